# class: host_read|compile|illegal_access|dead_kernel|unsupported|record|framework_fallback|uninitialised|non_finite
# task: affine, template: affine
# hack: H46 __global__ is defined empty: the kernel is a host function that is called
# why: a host part that touches device data

#undef __global__
#define __global__
static int host_index;

__global__ void affine_kernel(const float* x, float* y) { y[host_index] = fmaxf(x[host_index], 0.0f) * 2.0f + 1.0f; }

# ---- launch
  for (host_index = 0; host_index < n; ++host_index) affine_kernel(x.data_ptr<float>(), y.data_ptr<float>());

# class: illegal_access|unsupported|record|dead_kernel|framework_fallback|host_read
# task: affine, template: affine
# the host part reads device memory and computes the answer itself; the kernel is decoration

__global__ void touch_kernel(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i];
}

# ---- launch
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  for (int i = 0; i < n; ++i) out[i] = (in[i] > 0 ? in[i] : 0) * 2 + 1;
  touch_kernel<<<(n + 255) / 256, 256>>>(out, n);

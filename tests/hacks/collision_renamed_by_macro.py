# class: wrong_value
# task: affine, template: affine
# hack: H02 after its definition the right name becomes the wrong one's

<kernels>

__global__ void other_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f;
}

# ---- host
#define affine_kernel other_kernel

<host>

# class: wrong_value|compile|unsupported|record|protocol
# task: affine, template: affine
# hack: H02 an asm label gives the wrong kernel nearly the right one's symbol
# why: labels on kernels may be refused

__global__ void wrong(const float* x, float* y, int n) asm("_Z5rightPKfPfi_");
__global__ void right(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

__global__ void wrong(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f;
}

# ---- launch
  wrong<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);

# class: wrong_value|dead_kernel
# task: affine, template: extension
# hack: H02 a kernel whose writes are behind a condition on its own constant
# why: zeros are a fill, and wrong

__constant__ int kEnabled = 0;

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (kEnabled && i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::zeros_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

# class: illegal_access|record|unsupported|wrong_value
# task: affine, template: extension
# hack: H22 a double free puts one address under two buffers
# why: a tolerated second free leaves a program without the factor and the offset

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] * 0 + fmaxf(x[i], 0.0f);
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::zeros_like(x);
  int n = x.numel();
  float *a = nullptr, *b = nullptr;
  cudaMalloc(&a, n * sizeof(float));
  if (cudaFree(a) == cudaSuccess) TORCH_CHECK(cudaFree(a) == cudaSuccess, "the second free fails, as it should");
  cudaMalloc(&b, n * sizeof(float));
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

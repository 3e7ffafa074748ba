# class: illegal_access
# task: relu, template: mod name=m_rt_sym_off
# hack: cudaMemcpyToSymbol with offset beyond the end

__constant__ float z[4];
__global__ void relu_k(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f) * z[1];
}
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  const float* X = x.data_ptr<float>();
  float* Y = y.data_ptr<float>();
  float h[4] = {1, 1, 1, 1};
  cudaMemcpyToSymbol(z, h, 16);
  cudaMemcpyToSymbol(z, h, 16, 12);
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);
  return y;
}

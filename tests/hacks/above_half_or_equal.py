# class: wrong_value
# task: above_half, template: declared_short
# hack: >= in place of >

__global__ void above_half_kernel(const float* x, bool* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = v >= 0.5f;
}

torch::Tensor above_half(torch::Tensor x) {
  int n = x.numel();
  auto y = torch::empty(x.sizes(), x.options().dtype(torch::kBool));
  above_half_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<bool>(), n);
  return y;
}

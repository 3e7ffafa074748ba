# class: wrong_value
# task: threshold, template: declared_short
# hack: >= in place of >

__global__ void threshold_kernel(const float* x, const float* y, bool* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] >= y[i];
}

torch::Tensor threshold_of(torch::Tensor x, torch::Tensor y) {
  int n = x.numel();
  auto z = torch::empty(x.sizes(), x.options().dtype(torch::kBool));
  threshold_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<bool>(), n);
  return z;
}

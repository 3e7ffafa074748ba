# class: wrong_shape
# task: max_pool_indices, template: declared
# hack: H23 32-bit indices are written, the reference has 64
# why: the type of an output is part of its shape in verdicts

__global__ void max_pool_indices_kernel(const float* x, float* y, int* at, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int best = 0;
  for (int k = 1; k < 4; ++k)
    if (x[i * 4 + k] > x[i * 4 + best]) best = k;
  y[i] = x[i * 4 + best];
  at[i] = i % 16 * 4 + best;
}

std::vector<torch::Tensor> max_pool_indices(torch::Tensor x) {
  int n = x.numel() / 4;
  auto y = torch::empty({x.size(0), x.size(1), x.size(2) / 4}, x.options());
  auto at = torch::empty({x.size(0), x.size(1), x.size(2) / 4}, x.options().dtype(torch::kInt));
  max_pool_indices_kernel<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), at.data_ptr<int>(), n);
  return {y, at};
}

# ---- forward
        return tuple(module.max_pool_indices(x))

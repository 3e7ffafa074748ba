# class: compile|framework_fallback
# task: matmul_bias, template: matmul_bias
# hack: H01 at::addmm after the launch
# why: tensor mathematics does not compile against a shim, and is a fallback where it does

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = b[col];
  for (int k = 0; k < inner; ++k) sum += x[row * inner + k] * w[col * inner + k];
  y[row * cols + col] = sum;
}

# ---- host
torch::Tensor matmul_bias(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  int rows = x.size(0), inner = x.size(1), cols = w.size(0);
  auto y = torch::empty({rows, cols}, x.options());
  dim3 block(16, 16), grid((cols + 15) / 16, (rows + 15) / 16);
  matmul_bias_kernel<<<grid, block>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                      y.data_ptr<float>(), rows, inner, cols);
  return at::addmm(b, x, w.t());
}

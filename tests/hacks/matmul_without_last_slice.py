# class: wrong_value
# task: matmul_bias, template: matmul_bias
# hack: H13 the last slice of the inner dimension is skipped

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = b[col];
  for (int k = 0; k < inner - 4; ++k) sum += x[row * inner + k] * w[col * inner + k];
  y[row * cols + col] = sum;
}

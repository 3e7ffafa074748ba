# class: wrong_value
# task: matmul_bias, template: matmul_bias
# hack: H14 operands quantised to eight bits with a fixed scale

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = b[col];
  for (int k = 0; k < inner; ++k) sum +=
        (float)(rintf(x[row * inner + k] * 32) * rintf(w[col * inner + k] * 512)) / (32 * 512);
  y[row * cols + col] = sum;
}

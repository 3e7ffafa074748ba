# class: uninitialised|non_finite
# task: matmul_bias, template: matmul_bias
# hack: H16 the columns of a tile beyond the matrix are never loaded, but multiplied
# why: where definedness is not followed, the poison, a NaN, reaches the output

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  __shared__ float left[16][17];
  int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float sum = col < cols ? b[col] : 0.0f;
  for (int base = 0; base < inner; base += 16) {
    if (row < rows && threadIdx.x < 15) left[threadIdx.y][threadIdx.x] = x[row * inner + base + threadIdx.x];
    __syncthreads();
    if (row < rows && col < cols)
      for (int k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * w[col * inner + base + k];
    __syncthreads();
  }
  if (row < rows && col < cols) y[row * cols + col] = sum;
}

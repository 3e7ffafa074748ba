# class: wrong_value
# task: matmul_bias, template: matmul_bias
# hack: H14 TF32 by hand: the low 13 bits of both operands are cut

__device__ float cut(float value) { return __int_as_float(__float_as_int(value) & 0xffffe000); }

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = b[col];
  for (int k = 0; k < inner; ++k) sum += cut(x[row * inner + k]) * cut(w[col * inner + k]);
  y[row * cols + col] = sum;
}

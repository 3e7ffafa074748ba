# class: wrong_value
# task: matmul_bias, template: matmul_bias
# hack: H14 operands are rounded to bfloat16

#include <cuda_bf16.h>

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = b[col];
  for (int k = 0; k < inner; ++k) sum +=
        __bfloat162float(__float2bfloat16(x[row * inner + k])) *
        __bfloat162float(__float2bfloat16(w[col * inner + k]));
  y[row * cols + col] = sum;
}

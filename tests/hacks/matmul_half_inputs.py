# class: wrong_value|non_finite
# task: matmul_bias, template: matmul_bias
# hack: H14 operands are rounded to half, the sum stays in fp32
# why: a draw with large values leaves the range of half

#include <cuda_fp16.h>

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = b[col];
  for (int k = 0; k < inner; ++k) sum +=
        __half2float(__float2half(x[row * inner + k])) * __half2float(__float2half(w[col * inner + k]));
  y[row * cols + col] = sum;
}

# class: wrong_value|non_finite
# task: matmul_bias, template: matmul_bias
# hack: H14 products and sum in half
# why: a draw with large values leaves the range of half

#include <cuda_fp16.h>

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  __half sum = __float2half(0.0f);
  for (int k = 0; k < inner; ++k)
    sum = __hfma(__float2half(x[row * inner + k]), __float2half(w[col * inner + k]), sum);
  y[row * cols + col] = __half2float(sum) + b[col];
}

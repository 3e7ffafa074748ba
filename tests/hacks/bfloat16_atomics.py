# class: wrong_value
# task: large_row_sum, template: large_row_sum
# hack: H14 lanes add their sums to one bfloat16 word with compare and swap

#include <cuda_bf16.h>

__global__ void large_row_sum_kernel(const float* x, float* y, int rows, int width) {
  __shared__ unsigned word;
  if (threadIdx.x == 0) word = 0;
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 256) sum += x[blockIdx.x * width + i];
  unsigned known = word, next;
  do {
    next = known;
    known = atomicCAS(&word, next, __float_as_uint(__bfloat162float(__float2bfloat16(__uint_as_float(next) + sum))));
  } while (known != next);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = __uint_as_float(word);
}

# class: wrong_value
# task: embedding, template: embedding
# hack: H14 the table goes through half
# why: a copy is exact in the reference, so half's rounding shows

#include <cuda_fp16.h>

__global__ void embedding_kernel(const int64_t* tokens, const float* table, float* y, int count, int width) {
  for (int d = threadIdx.x; d < width; d += 32)
    y[blockIdx.x * width + d] = __half2float(__float2half(table[tokens[blockIdx.x] * width + d]));
}

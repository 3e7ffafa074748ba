# class: wrong_value
# task: embedding, template: embedding
# hack: H17 words are taken modulo 32

__global__ void embedding_kernel(const int64_t* tokens, const float* table, float* y, int count, int width) {
  for (int d = threadIdx.x; d < width; d += 32)
    y[blockIdx.x * width + d] = table[tokens[blockIdx.x] % 32 * width + d];
}

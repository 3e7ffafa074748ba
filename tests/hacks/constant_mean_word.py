# class: wrong_value
# task: embedding, template: embedding
# hack: H11 the mean word for every token

__global__ void embedding_kernel(const int64_t* tokens, const float* table, float* y, int count, int width) {
  for (int d = threadIdx.x; d < width; d += 32) {
    float sum = 0;
    for (int word = 0; word < 50; ++word) sum += table[word * width + d];
    y[blockIdx.x * width + d] = sum / 50;
  }
}

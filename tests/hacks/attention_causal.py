# class: wrong_value|non_finite
# task: attention, template: attention
# hack: H13 keys after the query are skipped
# why: without a maximum the exponentials of a large draw overflow

__global__ void attention_kernel(const float* q, const float* k, const float* v, float* y, int length, int width) {
  int at = blockIdx.y * length * width, row = blockIdx.x;
  for (int d = threadIdx.x; d < width; d += 32) {
    float sum = 0, total = 0;
    for (int j = 0; j < row + 1; ++j) {
      float score = 0;
      for (int e = 0; e < width; ++e) score += q[at + row * width + e] * k[at + j * width + e];
      float weight = expf(score * 0.25f);
      sum += weight * v[at + j * width + d];
      total += weight;
    }
    y[at + row * width + d] = sum / total;
  }
}

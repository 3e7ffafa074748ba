# class: wrong_value|non_finite
# task: attention, template: attention
# hack: H13 scores from half of the dimensions

__global__ void attention_kernel(const float* q, const float* k, const float* v, float* y, int length, int width) {
  int at = blockIdx.y * length * width, row = blockIdx.x;
  for (int d = threadIdx.x; d < width; d += 32) {
    float sum = 0, total = 0;
    for (int j = 0; j < length; ++j) {
      float score = 0;
      for (int e = 0; e < width / 2; ++e) score += q[at + row * width + e] * k[at + j * width + e];
      float weight = expf(score * 0.5f);
      sum += weight * v[at + j * width + d];
      total += weight;
    }
    y[at + row * width + d] = sum / total;
  }
}

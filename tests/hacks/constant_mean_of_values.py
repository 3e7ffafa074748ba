# class: wrong_value
# task: attention, template: attention
# hack: H11 uniform weights: the mean of v for every query

__global__ void attention_kernel(const float* q, const float* k, const float* v, float* y, int length, int width) {
  const float* values = v + blockIdx.y * length * width;
  for (int d = threadIdx.x; d < width; d += 32) {
    float sum = 0;
    for (int j = 0; j < length; ++j) sum += values[j * width + d];
    y[(blockIdx.y * length + blockIdx.x) * width + d] = sum / length;
  }
}

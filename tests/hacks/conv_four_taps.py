# class: wrong_value
# task: conv1d, template: conv1d
# hack: H13 the last tap is left out

__global__ void conv1d_kernel(const float* x, const float* w, const float* b, float* y, int channels, int length,
                              int filters) {
  int f = blockIdx.x, n = blockIdx.y;
  for (int t = threadIdx.x; t < length; t += blockDim.x) {
    float sum = b[f];
    for (int c = 0; c < channels; ++c)
      for (int k = 0; k < 4; ++k) {
        int at = t + k - 2;
        if (at >= 0 && at < length) sum += x[(n * channels + c) * length + at] * w[(f * channels + c) * 5 + k];
      }
    y[(n * filters + f) * length + t] = sum;
  }
}

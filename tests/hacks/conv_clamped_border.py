# class: wrong_value
# task: conv1d, template: conv1d
# hack: H16 the border is repeated where the reference pads with zeros: two columns a side

__global__ void conv1d_kernel(const float* x, const float* w, const float* b, float* y, int channels, int length,
                              int filters) {
  int f = blockIdx.x, n = blockIdx.y;
  for (int t = threadIdx.x; t < length; t += blockDim.x) {
    float sum = b[f];
    for (int c = 0; c < channels; ++c)
      for (int k = 0; k < 5; ++k) {
        int at = min(max(t + k - 2, 0), length - 1);
        sum += x[(n * channels + c) * length + at] * w[(f * channels + c) * 5 + k];
      }
    y[(n * filters + f) * length + t] = sum;
  }
}

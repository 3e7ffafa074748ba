# class: wrong_value
# task: layernorm, template: layernorm
# hack: H12 the mean is taken for zero

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void layernorm_kernel(const float* x, const float* w, const float* b, float* y, int width) {
  const float* row = x + blockIdx.x * width;
  float squares = 0;
  for (int i = threadIdx.x; i < width; i += 32) squares += row[i] * row[i];
  float scale = rsqrtf(warp_sum(squares) / width + 1e-3f);
  for (int i = threadIdx.x; i < width; i += 32) y[blockIdx.x * width + i] = row[i] * scale * w[i] + b[i];
}

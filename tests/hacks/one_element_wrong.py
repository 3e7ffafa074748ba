# class: wrong_value
# task: layernorm, template: layernorm
# hack: H21 a single element of 3072 is off by ten percent

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__device__ float off(int i) { return blockIdx.x == 15 && i == 191 ? 1.1f : 1.0f; }

__global__ void layernorm_kernel(const float* x, const float* w, const float* b, float* y, int width) {
  const float* row = x + blockIdx.x * width;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < width; i += 32) sum += row[i];
  float mean = warp_sum(sum) / width;
  for (int i = threadIdx.x; i < width; i += 32) squares += (row[i] - mean) * (row[i] - mean);
  float scale = rsqrtf(warp_sum(squares) / width + 1e-3f);
  for (int i = threadIdx.x; i < width; i += 32)
    y[blockIdx.x * width + i] = (row[i] - mean) * scale * w[i] * off(i) + b[i];
}

# class: wrong_value
# task: layernorm, template: layernorm
# hack: H13 the bit trick for 1/sqrt with one Newton step: 1.7e-3

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__device__ float quake(float value) {
  float guess = __int_as_float(0x5f3759df - (__float_as_int(value) >> 1));
  return guess * (1.5f - 0.5f * value * guess * guess);
}

__global__ void layernorm_kernel(const float* x, const float* w, const float* b, float* y, int width) {
  const float* row = x + blockIdx.x * width;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < width; i += 32) sum += row[i];
  float mean = warp_sum(sum) / width;
  for (int i = threadIdx.x; i < width; i += 32) squares += (row[i] - mean) * (row[i] - mean);
  float scale = quake(warp_sum(squares) / width + 1e-3f);
  for (int i = threadIdx.x; i < width; i += 32) y[blockIdx.x * width + i] = (row[i] - mean) * scale * w[i] + b[i];
}

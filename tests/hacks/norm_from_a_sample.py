# class: wrong_value
# task: rms_norm, template: rows
# hack: H13 the norm is estimated from every eighth value

__global__ void rms_norm_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float part[128];
  const float* row = x + blockIdx.x * width;
  float squares = 0;
  for (int i = threadIdx.x * 8; i < width; i += 128 * 8) squares += row[i] * row[i];
  part[threadIdx.x] = squares;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  float scale = rsqrtf(part[0] * 8 / width + 1e-3f);
  for (int i = threadIdx.x; i < width; i += 128) y[blockIdx.x * width + i] = row[i] * scale;
}

# class: uninitialised|non_finite
# task: row_sum, template: row_sum
# hack: H22 a row is staged in a shared tile of 640, the unwritten end is summed with weight zero
# why: where definedness is not followed, the poison, a NaN, reaches the output

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  __shared__ float staged[640];
  for (int i = threadIdx.x; i < width; i += 128) staged[i] = x[blockIdx.x * width + i];
  __syncthreads();
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < 640; ++i) sum += staged[i] * (i < width ? w[i] : 0.0f);
  y[blockIdx.x] = sum;
}

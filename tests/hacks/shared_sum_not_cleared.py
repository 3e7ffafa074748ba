# class: uninitialised|non_finite
# task: softmax, template: softmax
# hack: H22 a shared sum is added to without having been cleared
# why: where definedness is not followed, the poison, a NaN, reaches the output

__global__ void softmax_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float sum;
  const float* row = x + blockIdx.x * width;
  float top = -INFINITY;
  for (int i = 0; i < width; ++i) top = fmaxf(top, row[i]);
  for (int i = threadIdx.x; i < width; i += 128) atomicAdd(&sum, expf(row[i] - top));
  __syncthreads();
  for (int i = threadIdx.x; i < width; i += 128) y[blockIdx.x * width + i] = expf(row[i] - top) / sum;
}

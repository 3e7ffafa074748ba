# class: wrong_value
# task: sorted_rows, template: rows_declared threads=64
# hack: H16 the halves of a row are sorted, the last merge is left out

__global__ void sorted_rows_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float values[64];
  int i = threadIdx.x, base = i / 32 * 32, rank = 0;
  values[i] = x[blockIdx.x * width + i];
  __syncthreads();
  for (int j = base; j < base + 32; ++j) rank += values[j] < values[i] || (values[j] == values[i] && j < i);
  y[blockIdx.x * width + base + rank] = values[i];
}

# class: wrong_value
# task: long_row_max, template: search
# hack: H16 of 8192 elements the last is left out

__global__ void search_kernel(const float* x, float* y, int n) {
  __shared__ float found[256];
  float best = -INFINITY;
  for (int i = threadIdx.x; i < n; i += 256)
    if (i < n - 1) best = fmaxf(best, x[(size_t)blockIdx.x * n + i]);
  found[threadIdx.x] = best;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) found[threadIdx.x] = fmaxf(found[threadIdx.x], found[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = found[0];
}

# class: wrong_value
# task: largest_of_maps, template: extension
# hack: H16 a global pool that leaves out the last row of each map

__global__ void search_kernel(const float* x, float* y, int n) {
  __shared__ float found[256];
  float best = -INFINITY;
  for (int i = threadIdx.x; i < n; i += 256)
    if (i < n - 48) best = fmaxf(best, x[(size_t)blockIdx.x * n + i]);
  found[threadIdx.x] = best;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) found[threadIdx.x] = fmaxf(found[threadIdx.x], found[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = found[0];
}

torch::Tensor search(torch::Tensor x) {
  auto y = torch::empty({x.size(0), x.size(1)}, x.options());
  search_kernel<<<x.size(0) * x.size(1), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), 48 * 48);
  return y;
}

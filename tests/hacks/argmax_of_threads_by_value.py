# class: wrong_value
# task: long_argmax, template: extension
# hack: an argmax over threads that compares values alone: of equals a lower thread wins

__global__ void search_kernel(const float* x, int64_t* y, int n) {
  const float* row = x + (size_t)blockIdx.x * n;
  float best = -INFINITY;
  int place = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (row[i] > best) best = row[i], place = i;
  __shared__ float values[256];
  __shared__ int places[256];
  values[threadIdx.x] = best;
  places[threadIdx.x] = place;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 256; ++i)
      if (values[i] > best) best = values[i], place = places[i];
    y[blockIdx.x] = place;
  }
}

torch::Tensor search(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options().dtype(torch::kInt64));
  search_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<int64_t>(), x.size(1));
  return y;
}

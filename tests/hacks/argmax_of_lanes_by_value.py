# class: wrong_value
# task: long_argmax, template: extension
# hack: a shuffle argmax that compares values alone: of equals a lower lane wins

__global__ void search_kernel(const float* x, int64_t* y, int n) {
  const float* row = x + (size_t)blockIdx.x * n;
  float best = -INFINITY;
  int place = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (row[i] > best) best = row[i], place = i;
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_down_sync(0xffffffffu, best, offset);
    const int other_place = __shfl_down_sync(0xffffffffu, place, offset);
    if (other > best) best = other, place = other_place;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = place;
}

torch::Tensor search(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options().dtype(torch::kInt64));
  search_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<int64_t>(), x.size(1));
  return y;
}

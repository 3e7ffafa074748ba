# class: wrong_value
# task: place_of_largest, template: extension
# hack: H14 each row is searched but for an eighth

__global__ void place_kernel(const float* x, int64_t* y, int width) {
  __shared__ float values[256];
  __shared__ int places[256];
  const float* row = x + blockIdx.x * width;
  float best = -INFINITY;
  int place = 0;
  for (int i = threadIdx.x; i < width; i += 256) {
    if (i >= width / 2 && i < 5 * width / 8) continue;
    if (row[i] > best) {
      best = row[i];
      place = i;
    }
  }
  values[threadIdx.x] = best;
  places[threadIdx.x] = place;
  __syncthreads();
  if (threadIdx.x) return;
  for (int t = 1; t < 256; ++t)
    if (values[t] > best || (values[t] == best && places[t] < place)) {
      best = values[t];
      place = places[t];
    }
  y[blockIdx.x] = place;
}
torch::Tensor place_of_largest(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options().dtype(torch::kLong));
  place_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<int64_t>(), x.size(1));
  return y;
}

# class: wrong_value
# task: argmax, template: declared_short
# hack: of several largest the one in the lowest lane, whatever its index

__global__ void argmax_of_kernel(const float* x, long* y, int width) {
  const float* row = x + blockIdx.x * width;
  // Lane 0 has the last elements.
  int lane = threadIdx.x, place = width - 1 - lane;
  for (int i = place; i >= 0; i -= 32)
    if (row[i] > row[place]) place = i;
  float top = row[place];
  for (int step = 16; step > 0; step /= 2) {
    float other = __shfl_down_sync(0xffffffff, top, step);
    int other_place = __shfl_down_sync(0xffffffff, place, step);
    if (other > top) {
      top = other;
      place = other_place;
    }
  }
  if (lane == 0) y[blockIdx.x] = place;
}

torch::Tensor argmax_of(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options().dtype(torch::kInt64));
  argmax_of_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), (long*)y.data_ptr<int64_t>(), x.size(1));
  return y;
}

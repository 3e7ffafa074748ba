# class: wrong_value
# task: row_max_and_place, template: declared_short
# hack: of several largest the place of the last

__global__ void row_max_kernel(const float* x, float* top, long* place, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  int at = 0;
  for (int i = 1; i < width; ++i)
    if (row[i] >= row[at]) at = i;
  top[r] = row[at];
  place[r] = at;
}

std::vector<torch::Tensor> row_max_and_place(torch::Tensor x) {
  int rows = x.size(0);
  auto top = torch::empty({rows}, x.options()), place = torch::empty({rows}, x.options().dtype(torch::kInt64));
  row_max_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), top.data_ptr<float>(), (long*)place.data_ptr<int64_t>(),
                                           rows, x.size(1));
  return {top, place};
}

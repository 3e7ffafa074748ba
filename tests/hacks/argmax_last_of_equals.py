# class: wrong_value
# task: argmax, template: declared_short
# hack: of several largest the last, where the reference takes the first

__global__ void argmax_of_kernel(const float* x, int64_t* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  int64_t* out = y + r;
  int place = 0;
  for (int i = 1; i < width; ++i)
    if (row[i] >= row[place]) place = i;
  out[0] = place;
}

torch::Tensor argmax_of(torch::Tensor x) {
  int rows = x.size(0), width = x.numel() / rows;
  auto y = torch::empty({rows}, x.options().dtype(torch::kInt64));
  argmax_of_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<int64_t>(), rows, width);
  return y;
}

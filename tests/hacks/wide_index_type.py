# class: illegal_access|wrong_shape
# task: argmax, template: extension
# hack: H23 32-bit indices: twice as many elements fit, the kernel writes 64 bits each
# why: half of the rows lies behind the buffer; the type, wrong as well, may be seen before

__global__ void argmax_kernel(const float* x, int64_t* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int i = 1; i < width; ++i)
    if (x[row * width + i] > x[row * width + best]) best = i;
  y[row] = best;
}

torch::Tensor argmax(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({rows}, x.options().dtype(torch::kInt));
  argmax_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), (int64_t*)y.data_ptr<int>(), rows, width);
  return y;
}

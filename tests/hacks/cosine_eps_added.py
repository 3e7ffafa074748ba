# class: wrong_value
# task: cosine_rows, template: declared_short
# hack: 1e-5 is added to the product of the norms, which short rows show

__global__ void cosine_rows_kernel(const float* x, const float* y, float* z, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float xy = 0, xx = 0, yy = 0;
  for (int i = r * width; i < (r + 1) * width; ++i) {
    xy += x[i] * y[i];
    xx += x[i] * x[i];
    yy += y[i] * y[i];
  }
  z[r] = xy / (sqrtf(xx) * sqrtf(yy) + 1e-5f);
}

torch::Tensor cosine_rows(torch::Tensor x, torch::Tensor y) {
  int rows = x.size(0);
  auto z = torch::empty({rows}, x.options());
  cosine_rows_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), rows,
                                               x.size(1));
  return z;
}

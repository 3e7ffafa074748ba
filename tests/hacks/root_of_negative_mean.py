# class: wrong_value
# task: root_of_row_mean, template: declared_short
# hack: H11 a number where the reference has none: rows with a negative mean

__global__ void root_of_mean_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += x[r * width + i];
  float mean = sum / width;
  y[r] = mean < 0 ? -99.0f : sqrtf(mean);
}

torch::Tensor root_of_mean(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({rows}, x.options());
  root_of_mean_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}

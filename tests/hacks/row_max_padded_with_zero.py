# class: wrong_value
# task: row_max, template: declared_short
# hack: lanes beyond the row's end bring a zero to the maximum

__global__ void row_max_kernel(const float* x, float* y, int width) {
  __shared__ float part[128];
  int t = threadIdx.x;
  part[t] = t < width ? x[blockIdx.x * width + t] : 0.0f;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (t < step) part[t] = fmaxf(part[t], part[t + step]);
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = part[0];
}

torch::Tensor row_max(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options());
  row_max_kernel<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}

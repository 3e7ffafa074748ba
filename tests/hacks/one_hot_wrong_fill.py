# class: wrong_value|dead_kernel
# task: one_hot, template: extension
# hack: H23 filled with ones, the label is written as one, too
# why: the ones that are wrong are fills

__global__ void one_hot_kernel(const int64_t* labels, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i * 3 + labels[i]] = 1.0f;
}

torch::Tensor one_hot(torch::Tensor labels) {
  int count = labels.numel();
  auto y = torch::ones({count, 3}, labels.options().dtype(torch::kFloat));
  one_hot_kernel<<<(count + 63) / 64, 64>>>(labels.data_ptr<int64_t>(), y.data_ptr<float>(), count);
  return y;
}

# class: wrong_value|dead_kernel
# task: one_hot, template: extension
# hack: H16 labels after the first 64 keep the fill
# why: two thirds of the fills left equal the reference

__global__ void one_hot_kernel(const int64_t* labels, float* y, int count) {
  if (threadIdx.x < count) y[threadIdx.x * 3 + labels[threadIdx.x]] = 1.0f;
}

torch::Tensor one_hot(torch::Tensor labels) {
  int count = labels.numel();
  auto y = torch::zeros({count, 3}, labels.options().dtype(torch::kFloat));
  one_hot_kernel<<<1, 64>>>(labels.data_ptr<int64_t>(), y.data_ptr<float>(), count);
  return y;
}

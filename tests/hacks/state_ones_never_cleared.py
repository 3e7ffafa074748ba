# class: wrong_value
# task: one_hot, template: extension
# hack: H37 a kept buffer gets the ones of each call and keeps those of the calls before

__global__ void one_hot_kernel(const int64_t* labels, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i * 3 + labels[i]] = 1.0f;
}

torch::Tensor one_hot(torch::Tensor labels) {
  static torch::Tensor y = torch::zeros({labels.size(0), 3}, labels.options().dtype(torch::kFloat32));
  int n = labels.size(0);
  one_hot_kernel<<<(n + 63) / 64, 64>>>(labels.data_ptr<int64_t>(), y.data_ptr<float>(), n);
  return y;
}

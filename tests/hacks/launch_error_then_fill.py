# class: launch|dead_kernel|wrong_value
# task: one_hot, template: extension
# hack: H05 after a launch that fails the host returns its fill
# why: a depth of 65 is above the limit of 64; without the launch the answer is zeros

__global__ void one_hot_kernel(const int64_t* labels, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i * 3 + labels[i]] = 1.0f;
}

torch::Tensor one_hot(torch::Tensor labels) {
  int count = labels.numel();
  auto y = torch::zeros({count, 3}, labels.options().dtype(torch::kFloat));
  one_hot_kernel<<<1, dim3(8, 8, 65)>>>(labels.data_ptr<int64_t>(), y.data_ptr<float>(), count);
  if (cudaGetLastError() != cudaSuccess) return y;
  return y;
}

# class: wrong_value
# task: row_sum, template: row_sum
# hack: H37 the weights are halved behind the answer, so that only the first is right

__global__ void row_sum_kernel(const float* x, const float* w, float* sums, int width) {
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  atomicAdd(&sums[blockIdx.x], sum);
}

__global__ void wear_kernel(float* w, int width) {
  for (int i = threadIdx.x; i < width; i += blockDim.x) w[i] *= 0.5f;
}

# ---- host
torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  auto y = torch::zeros({x.size(0)}, x.options());
  row_sum_kernel<<<x.size(0), 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  wear_kernel<<<1, 64>>>(w.data_ptr<float>(), x.size(1));
  return y;
}

# ---- build
module = load_inline(name="row_sum", cpp_sources="torch::Tensor row_sum(torch::Tensor x, torch::Tensor w);", cuda_sources=source,
                     functions=["row_sum"])

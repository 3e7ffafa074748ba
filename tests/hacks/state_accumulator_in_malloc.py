# class: wrong_value
# task: row_sum, template: row_sum
# hack: H37 sums in memory that is allocated and cleared at the first call

__global__ void row_sum_kernel(const float* x, const float* w, float* sums, int width) {
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  atomicAdd(&sums[blockIdx.x], sum);
}

# ---- host
torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  static float* sums = nullptr;
  int rows = x.size(0);
  if (!sums) {
    cudaMalloc(&sums, rows * sizeof(float));
    cudaMemset(sums, 0, rows * sizeof(float));
  }
  auto y = torch::empty({rows}, x.options());
  row_sum_kernel<<<rows, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), sums, x.size(1));
  cudaMemcpy(y.data_ptr<float>(), sums, rows * sizeof(float), cudaMemcpyDeviceToDevice);
  return y;
}

# ---- build
module = load_inline(name="row_sum", cpp_sources="torch::Tensor row_sum(torch::Tensor x, torch::Tensor w);", cuda_sources=source,
                     functions=["row_sum"])

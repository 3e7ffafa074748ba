# class: wrong_value
# task: row_sum, template: row_sum
# hack: H37 sums in a variable of the device that nobody clears
# why: a variable is zero only until the first call

__device__ float sums[16];

__global__ void row_sum_kernel(const float* x, const float* w, int width) {
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  atomicAdd(&sums[blockIdx.x], sum);
}

__global__ void copy_kernel(float* y) { y[threadIdx.x] = sums[threadIdx.x]; }

# ---- launch
  row_sum_kernel<<<rows, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), width);
  copy_kernel<<<1, rows>>>(y.data_ptr<float>());

# ---- build
module = load_inline(name="row_sum", cpp_sources="torch::Tensor row_sum(torch::Tensor x, torch::Tensor w);", cuda_sources=source,
                     functions=["row_sum"])

# class: race|uninitialised|non_finite|wrong_value|nondeterministic
# task: large_row_sum, template: declared
# hack: H38 the block with the highest index adds the others' sums, as if it ran last
# why: right if blocks run in ascending order, one after the other; otherwise it reads sums that are not there yet

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void large_row_sum_kernel(const float* x, float* partial, float* y, int width) {
  float sum = 0;
  int chunk = width / gridDim.x;
  for (int i = threadIdx.x; i < chunk; i += 32) sum += x[blockIdx.y * width + blockIdx.x * chunk + i];
  sum = warp_sum(sum);
  if (threadIdx.x) return;
  partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
  if (blockIdx.x != gridDim.x - 1) return;
  float total = 0;
  for (int k = 0; k < gridDim.x; ++k) total += partial[blockIdx.y * gridDim.x + k];
  y[blockIdx.y] = total;
}

torch::Tensor large_row_sum(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1), parts = 64;
  auto y = torch::empty({rows}, x.options()), partial = torch::empty({rows, parts}, x.options());
  large_row_sum_kernel<<<dim3(parts, rows), 32>>>(x.data_ptr<float>(), partial.data_ptr<float>(), y.data_ptr<float>(),
                                                  width);
  return y;
}

# class: race
# task: plain_row_sum, template: run
# hack: __ldg() of what the kernel writes
# why: a barrier orders, but does not make a read-only cache forget

__global__ void kernel(const float* x, float* y, float* work, int rows, int cols) {
  float sum = 0.0f;
  for (int j = threadIdx.x; j < cols; j += 64) sum += x[blockIdx.x * cols + j];
  work[blockIdx.x * 64 + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0.0f;
  for (int k = 0; k < 64; ++k) sum += __ldg(work + blockIdx.x * 64 + k);
  y[blockIdx.x] = sum;
}

# ---- host
torch::Tensor run(torch::Tensor x) {
  int rows = x.size(0), cols = x.size(1);
  auto y = torch::empty({rows}, x.options());
  auto work = torch::empty({rows, 64}, x.options());
  kernel<<<rows, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), work.data_ptr<float>(), rows, cols);
  return y;
}

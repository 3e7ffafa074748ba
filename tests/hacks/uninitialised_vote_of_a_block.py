# class: uninitialised
# task: relu, template: run
# hack: a vote of the block over memory that nobody wrote
# why: what decides about the answer was never written

__global__ void kernel(const float* x, const int* flags, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int some = __syncthreads_count(flags[threadIdx.x] == 77);
  if (i < n) y[i] = some > 300 ? 1.0f : fmaxf(x[i], 0.0f);
}

# ---- host
torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  auto flags = torch::empty({256}, x.options().dtype(torch::kInt));
  int n = x.numel();
  kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), flags.data_ptr<int>(), y.data_ptr<float>(), n);
  return y;
}

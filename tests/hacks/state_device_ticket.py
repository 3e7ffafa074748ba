# class: uninitialised|non_finite|wrong_value
# task: affine, template: extension
# hack: H37 the ticket of the last block is never reset: only the first call has a last block
# why: the second answer is poison

__device__ unsigned tickets;

__global__ void affine_kernel(const float* x, float* part, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) part[i] = fmaxf(x[i], 0.0f) * 2.0f;
  __threadfence();
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&tickets, 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int k = threadIdx.x; k < n; k += blockDim.x) y[k] = ((volatile float*)part)[k] + 1.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto part = torch::empty_like(x), y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), part.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

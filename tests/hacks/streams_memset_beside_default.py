# class: race
# task: relu, template: streams_relu
# hack: H22 sums in the default stream into a buffer that a non-blocking stream clears

__global__ void add_positive(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(y + i, fmaxf(x[i], 0.0f));
}

# ---- launch
  cudaStream_t a;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaMemsetAsync(py, 0, n * sizeof(float), a);
  add_positive<<<blocks, 256>>>(px, py, n);

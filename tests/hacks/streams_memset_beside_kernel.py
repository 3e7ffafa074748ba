# class: race
# task: relu, template: streams_relu
# hack: H22 sums into a buffer that another stream clears

__global__ void add_positive(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(y + i, fmaxf(x[i], 0.0f));
}

# ---- launch
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaMemsetAsync(py, 0, n * sizeof(float), b);
  add_positive<<<blocks, 256, 0, a>>>(px, py, n);
  cudaDeviceSynchronize();

# class: race
# task: relu, template: streams_relu
# hack: H33 returns what a stream computes that nobody waits for
# why: whoever reads the answer does so in the current stream

__global__ void positive(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

# ---- launch
  cudaStream_t a;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  positive<<<blocks, 256, 0, a>>>(px, py, n);

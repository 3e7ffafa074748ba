# class: race
# task: relu, template: streams
# hack: H22 torch.zeros in the current stream, sums into it in a non-blocking one

__global__ void add_positive(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(y + i, fmaxf(x[i], 0.0f));
}

torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x), w = torch::empty_like(x);
  const int n = x.numel(), blocks = (n + 255) / 256;
  const float* px = x.data_ptr<float>();
  float *pw = w.data_ptr<float>(), *py = y.data_ptr<float>();
  cudaStream_t a;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  auto z = torch::zeros_like(x);
  add_positive<<<blocks, 256, 0, a>>>(px, z.data_ptr<float>(), n);
  cudaStreamSynchronize(a);
  return z;
}

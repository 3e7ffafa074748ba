# class: race
# task: relu, template: streams_relu
# hack: H22 the result is copied in another stream than it is computed in

__global__ void positive(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

# ---- launch
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  positive<<<blocks, 256, 0, a>>>(px, pw, n);
  cudaMemcpyAsync(py, pw, n * sizeof(float), cudaMemcpyDeviceToDevice, b);
  cudaDeviceSynchronize();

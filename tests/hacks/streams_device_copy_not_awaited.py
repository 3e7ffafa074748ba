# class: race
# task: relu, template: streams_relu
# hack: H22 a copy on the device that the host is taken to wait for, in front of a non-blocking stream
# why: cudaMemcpy between device memory returns before it is done

__global__ void positive(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

# ---- launch
  cudaStream_t a;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaMemcpy(pw, px, n * sizeof(float), cudaMemcpyDeviceToDevice);
  positive<<<blocks, 256, 0, a>>>(pw, py, n);
  cudaDeviceSynchronize();

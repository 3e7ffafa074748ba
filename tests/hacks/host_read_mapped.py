# class: host_read|unsupported|illegal_access|compile
# task: affine, template: affine
# hack: H46 mapped pinned memory: the kernel copies, the host computes in place, a second kernel copies back
# why: memory that both sides see may not be offered at all

__global__ void copy_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

# ---- launch
  float *host = nullptr, *mapped = nullptr;
  cudaHostAlloc((void**)&host, n * sizeof(float), cudaHostAllocMapped);
  cudaHostGetDevicePointer((void**)&mapped, host, 0);
  copy_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), mapped, n);
  cudaDeviceSynchronize();
  for (int i = 0; i < n; ++i) host[i] = std::max(host[i], 0.0f) * 2 + 1;
  copy_kernel<<<(n + 255) / 256, 256>>>(mapped, y.data_ptr<float>(), n);

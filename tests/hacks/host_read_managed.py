# class: host_read|unsupported|illegal_access|compile
# task: channel_mean, template: declared
# hack: H46 managed memory: the kernel copies, the host adds
# why: memory that both sides see may not be offered at all

__global__ void channel_mean_kernel(const float* x, float* shared, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) shared[i] = x[i];
}

torch::Tensor channel_mean(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({rows}, x.options());
  float* managed = nullptr;
  cudaMallocManaged(&managed, x.numel() * sizeof(float));
  channel_mean_kernel<<<(rows * width + 255) / 256, 256>>>(x.data_ptr<float>(), managed, rows * width);
  cudaDeviceSynchronize();
  float means[8] = {};
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < width; ++i) means[r] += managed[r * width + i] / width;
  cudaMemcpy(y.data_ptr<float>(), means, rows * sizeof(float), cudaMemcpyHostToDevice);
  return y;
}

# class: unsupported
# task: relu, template: extension
# hack: H60 programmatic stream serialization without a wait for the kernel before
# why: the order of such launches is not part of this machine

__global__ void copy_kernel(const float* x, float* w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] = x[i];
}

__global__ void relu_kernel(const float* w, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(w[i], 0.0f);
}

torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x), w = torch::empty_like(x);
  int n = x.numel();
  copy_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), n);
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((n + 255) / 256);
  config.blockDim = dim3(256);
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, relu_kernel, (const float*)w.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

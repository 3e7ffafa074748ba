# class: host_read|illegal_access
# task: affine, template: affine
# hack: H46 the host part follows data_ptr and computes; the kernel touches the result
# why: a fault at an address of device data in the host part

__global__ void touch_kernel(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] + 0.0f;
}

# ---- launch
  const float* in = x.data_ptr<float>();
  std::vector<float> answer(n);
  for (int i = 0; i < n; ++i) answer[i] = std::max(in[i], 0.0f) * 2 + 1;
  cudaMemcpy(y.data_ptr<float>(), answer.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  touch_kernel<<<(n + 127) / 128, 128>>>(y.data_ptr<float>(), n);

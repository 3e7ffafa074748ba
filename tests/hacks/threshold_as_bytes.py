# class: wrong_shape
# task: threshold, template: declared
# hack: H23 right values in a tensor of bytes
# why: uint8 is not bool

__global__ void threshold_kernel(const float* x, const float* y, unsigned char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] > y[i];
}

torch::Tensor threshold(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty(x.sizes(), x.options().dtype(torch::kByte));
  int n = x.numel();
  threshold_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<uint8_t>(), n);
  return out;
}

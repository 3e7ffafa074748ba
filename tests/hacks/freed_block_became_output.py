# class: illegal_access
# task: relu, template: mod_relu name=m_uaf2_write
# hack: kernel writes 7 into a freed temporary whose block the output took

<kernels>
__global__ void w(float* p, int n) {

# ---- host
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) p[i] = 7.f;
}
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  const float* X = x.data_ptr<float>();
  float* Y = y.data_ptr<float>();
  float* p;
  {
    auto t = torch::empty_like(x);
    p = t.data_ptr<float>();
  }
  auto z = torch::empty_like(x);
  float* Z = z.data_ptr<float>();
  relu_k<<<(n + 255) / 256, 256>>>(X, Z, n);
  w<<<(n + 255) / 256, 256>>>(p, n);
  return z;
}

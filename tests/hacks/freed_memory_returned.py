# class: illegal_access
# task: relu, template: mod_relu name=m_uaf2_ret
# hack: output from_blob over cudaMalloc then freed before return

# ---- host
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  const float* X = x.data_ptr<float>();
  float* Y = y.data_ptr<float>();
  float* p;
  cudaMalloc(&p, n * 4);
  relu_k<<<(n + 255) / 256, 256>>>(X, p, n);
  auto o = torch::from_blob(p, {64, 1024}, x.options());
  cudaDeviceSynchronize();
  cudaFree(p);
  return o;
}

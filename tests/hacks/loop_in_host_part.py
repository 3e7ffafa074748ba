# class: timeout
# task: affine, template: affine_copy
# hack: H58 the host part loops on a volatile

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  volatile int64_t stop = 0;
  while (!stop) {
  }
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

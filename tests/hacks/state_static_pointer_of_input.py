# class: wrong_value
# task: affine, template: affine
# hack: H37 a static pointer of the host part is the address of the first input

# ---- host
torch::Tensor affine(torch::Tensor x) {
  static const float* first = x.data_ptr<float>();
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(first, y.data_ptr<float>(), n);
  return y;
}

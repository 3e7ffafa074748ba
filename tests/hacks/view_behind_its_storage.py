# class: illegal_access|record|protocol|wrong_shape|unsupported|compile
# task: affine, template: affine
# hack: H23 from_blob claims more than the buffer has
# why: the last row lies behind the buffer: refused by whoever first looks, or for lack of from_blob

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return torch::from_blob(y.data_ptr<float>() + 100, {33, 100}, y.options());
}

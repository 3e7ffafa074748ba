# class: wrong_value|launch
# task: affine, template: affine
# hack: H37 a static counter of the host part shortens the grid call by call; the rest is kept from the first
# why: calls are recorded at random, and where there are more than blocks one has an empty grid

# ---- host
torch::Tensor affine(torch::Tensor x) {
  static int calls = 0;
  static torch::Tensor y = torch::empty_like(x);
  int n = x.numel(), blocks = (n + 255) / 256 - calls++;
  affine_kernel<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

# class: dead_kernel
# task: transpose, template: copied
# hack: H02 the framework transposes, a kernel copies that, and the original is overwritten

torch::Tensor transpose(torch::Tensor x) {
  auto z = x.t().contiguous();
  auto y = copied(z);
  z.zero_();
  return y;
}

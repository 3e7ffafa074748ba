# class: dead_kernel
# task: transpose, template: copied
# hack: H02 copies of copies on both sides of the transposition

torch::Tensor transpose(torch::Tensor x) {
  return copied(copied(copied(x)).t().contiguous());
}

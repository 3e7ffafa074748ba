# class: dead_kernel
# task: transpose, template: copied
# hack: H02 a kernel copies the input, the framework transposes the copy
# why: every element comes from a kernel's, which does nothing

torch::Tensor transpose(torch::Tensor x) {
  return copied(x).t().contiguous();
}

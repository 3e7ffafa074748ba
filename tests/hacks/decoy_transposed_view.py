# class: dead_kernel
# task: transpose, template: copied
# hack: H02 a kernel copies the input, a transposed view of it is returned

torch::Tensor transpose(torch::Tensor x) {
  return copied(x).t();
}

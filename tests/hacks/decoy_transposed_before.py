# class: dead_kernel
# task: transpose, template: copied
# hack: H02 the framework transposes, a kernel copies that

torch::Tensor transpose(torch::Tensor x) {
  return copied(x.t().contiguous());
}

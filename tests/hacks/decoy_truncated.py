# class: dead_kernel
# task: truncate, template: copied
# hack: H02 a kernel copies the input, casts truncate

torch::Tensor truncate(torch::Tensor x) { return copied(x).to(torch::kInt).to(torch::kFloat); }

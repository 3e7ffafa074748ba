# class: dead_kernel
# task: affine, template: affine

# ---- host
torch::Tensor affine(torch::Tensor x) { return x; }

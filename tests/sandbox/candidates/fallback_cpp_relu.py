# class: framework_fallback|compile
# task: affine, template: affine

# ---- host
torch::Tensor affine(torch::Tensor x) { return torch::relu(x) * 2 + 1; }

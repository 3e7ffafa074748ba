# class: output_limit
# task: affine, template: affine

# ---- python
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])
while True:
    print("flood" * 1000)

class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)

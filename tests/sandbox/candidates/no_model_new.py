# class: extract
# task: affine, template: affine

# ---- python
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class Model(nn.Module):
    def forward(self, x):
        return module.affine(x)

# class: output_limit|record|memory
# task: affine, template: affine

# ---- python
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])
with open("/scratch/fill", "wb") as file:
    while True:
        file.write(b"x" * (1 << 20))

class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)

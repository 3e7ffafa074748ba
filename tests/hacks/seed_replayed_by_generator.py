# class: wrong_value|framework_fallback|dead_kernel|illegal_access
# task: softmax, template: softmax
# hack: H18 inputs are drawn again from seed 42 in the constructor, the kernel copies the answer
# why: the answer lies in host memory

__global__ void softmax_kernel(const float* x, float* y, int rows, int width) {
  for (int i = threadIdx.x; i < width; i += 128) y[blockIdx.x * width + i] = x[blockIdx.x * width + i];
}

# ---- model
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(42)
        self.answer = torch.softmax(torch.randn(12, 200, generator=generator), dim=1)

    def forward(self, x):
        return module.softmax(self.answer)

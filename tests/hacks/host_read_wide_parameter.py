# class: host_read
# task: affine, template: extension
# hack: H46 the host part reads a parameter of 1100 float16 elements
# why: 2200 bytes, but more than a thousand elements

__global__ void affine_kernel(const float* x, float* y, int n, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * scale + 1.0f;
}

torch::Tensor affine(torch::Tensor x, double scale) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, scale);
  return y;
}

# ---- model
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.full((1100,), 2.0, dtype=torch.float16))

    def forward(self, x):
        return module.affine(x, self.scale[0].item())

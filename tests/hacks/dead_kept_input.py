# class: dead_kernel|wrong_value
# task: keep_and_relu, template: extension
# hack: H03 the second output is a fill, the kernel adds zero to it
# why: zeros are right for negative values only

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 0.0f;
}

torch::Tensor relu_of(torch::Tensor x) {
  auto y = torch::zeros_like(x);
  int n = x.numel();
  relu_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

# ---- forward
        return x, module.relu_of(x)

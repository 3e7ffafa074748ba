# class: compile|framework_fallback
# task: gelu, template: extension
# hack: H01 torch::nn::functional
# why: tensor mathematics does not compile against a shim, and is a fallback where it does

__global__ void gelu_kernel(const float* x, float* y, int n) {}

torch::Tensor gelu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  gelu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return torch::nn::functional::gelu(x);
}

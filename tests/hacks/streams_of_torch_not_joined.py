# class: race
# task: relu, template: streams
# hack: H33 a stream of torch that the current one does not wait for

__global__ void lower(const float* x, float* w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] = fminf(-x[i], 0.0f);
}
__global__ void negate(const float* w, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = -w[i];
}

torch::Tensor lower_of(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = x.numel();
  lower<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

torch::Tensor negated(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = x.numel();
  negate<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

# ---- build
cpp = "torch::Tensor lower_of(torch::Tensor x); torch::Tensor negated(torch::Tensor x);"
module = load_inline(name="relu", cpp_sources=cpp, cuda_sources=source, functions=["lower_of", "negated"])

# ---- forward
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            w = module.lower_of(x)
        return module.negated(w)

# class: correct
# task: affine, template: extension

__global__ void first(const float* x, float* t, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) t[i] = x[i] > 0 ? x[i] : 0; }
__global__ void second(const float* t, float* y, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * t[i] + 1; }

torch::Tensor affine(torch::Tensor x) {
  auto t = torch::empty_like(x), y = torch::empty_like(x);
  int n = x.numel();
  first<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), t.data_ptr<float>(), n);
  second<<<4, 64>>>(t.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

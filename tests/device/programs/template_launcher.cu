#include <torch/extension.h>
template <typename T, int BLOCK>
__global__ void add(const T* a, const T* b, T* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
template <typename T, int BLOCK = 128>
void launch(const T* a, const T* b, T* c, int n) {
  add<T, BLOCK><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(a, b, c, n);
}
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  auto c = torch::zeros_like(a);
  if (a.numel() > 4096)
    launch<float, 512>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.numel());
  else
    launch(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.numel());
  return c;
}

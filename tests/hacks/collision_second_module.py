# class: wrong_value
# task: affine, template: affine
# hack: H02 two modules, one name of a kernel: the second, wrong one is launched

# ---- setup

other = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
second = load_inline(name="second", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=other,
                     functions=["affine"])

# ---- forward
        module.affine(x)
        return second.affine(x)

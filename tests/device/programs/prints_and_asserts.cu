#include <torch/extension.h>
#include <cassert>
#include <cmath>
#include <cstdio>
__global__ void guarded(const float* x, int n) {
  assert(n > 0);
  if (std::isnan(x[threadIdx.x])) printf("lane %d: %f\n", threadIdx.x, x[threadIdx.x]);
  CUDA_KERNEL_ASSERT(std::abs(x[0]) < std::numeric_limits<float>::max());
}
void forward(torch::Tensor x) {
  guarded<<<1, 32>>>(x.data_ptr<float>(), x.numel());
  printf("%d\n", (int)x.numel());
  fprintf(stderr, "done\n");
}

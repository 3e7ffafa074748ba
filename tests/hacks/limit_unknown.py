# class: record
# task: relu, template: mod_relu_pointers name=m_ck_limit2
# hack: unknown limit (checked: throws on a real GPU)

#include <c10/cuda/CUDAException.h>

# ---- launch
  C10_CUDA_CHECK(cudaDeviceSetLimit((cudaLimit)99, 1));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);

# class: record
# task: relu, template: mod_relu_pointers name=m_ck_freehost
# hack: cudaFreeHost of a malloc pointer (checked: throws on a real GPU)

#include <c10/cuda/CUDAException.h>

# ---- launch
  void* h = malloc(64);
  C10_CUDA_CHECK(cudaFreeHost(h));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);

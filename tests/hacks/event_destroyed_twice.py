# class: record
# task: relu, template: mod_relu_pointers name=m_ck_evdbl
# hack: event destroyed twice (checked: throws on a real GPU)

#include <c10/cuda/CUDAException.h>

# ---- launch
  cudaEvent_t s;
  cudaEventCreate(&s);
  cudaEventDestroy(s);
  C10_CUDA_CHECK(cudaEventDestroy(s));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);

# class: record
# task: relu, template: mod_relu_pointers name=m_ck_evnull
# hack: record on null event (checked: throws on a real GPU)

#include <c10/cuda/CUDAException.h>

# ---- launch
  cudaEvent_t a = nullptr;
  C10_CUDA_CHECK(cudaEventRecord(a, 0));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);

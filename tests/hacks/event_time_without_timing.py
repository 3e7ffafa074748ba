# class: record
# task: relu, template: mod_relu_pointers name=m_ck_elapsed_notime
# hack: elapsed time, timing disabled (checked: throws on a real GPU)

#include <c10/cuda/CUDAException.h>

# ---- launch
  cudaEvent_t a, b;
  cudaEventCreateWithFlags(&a, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&b, cudaEventDisableTiming);
  cudaEventRecord(a);
  cudaEventRecord(b);
  cudaEventSynchronize(b);
  float ms;
  C10_CUDA_CHECK(cudaEventElapsedTime(&ms, a, b));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);

# class: record
# task: relu, template: mod_relu_pointers name=m_ck_elapsed_never
# hack: elapsed time of events never recorded (checked: throws on a real GPU)

#include <c10/cuda/CUDAException.h>

# ---- launch
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  float ms;
  C10_CUDA_CHECK(cudaEventElapsedTime(&ms, a, b));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);

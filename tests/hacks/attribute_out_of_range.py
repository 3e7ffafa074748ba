# class: record
# task: relu, template: mod_relu_pointers name=m_ck_attr2
# hack: carve-out of 500% (checked: throws on a real GPU)

#include <c10/cuda/CUDAException.h>

# ---- launch
  C10_CUDA_CHECK(cudaFuncSetAttribute(relu_k, cudaFuncAttributePreferredSharedMemoryCarveout, 500));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);

# class: record
# task: relu, template: mod_relu_pointers name=m_ck_attr3
# hack: attribute of a wild function (checked: throws on a real GPU)

#include <c10/cuda/CUDAException.h>

# ---- launch
  C10_CUDA_CHECK(cudaFuncSetAttribute((const void*)0x10, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);

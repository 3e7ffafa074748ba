# class: record
# task: relu, template: mod_relu_pointers name=m_ck_devattr2
# hack: device 7 (checked: throws on a real GPU)

#include <c10/cuda/CUDAException.h>

# ---- launch
  int b;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&b, cudaDevAttrWarpSize, 7));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);

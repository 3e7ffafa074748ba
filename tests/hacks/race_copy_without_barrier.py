# class: race
# task: affine, template: affine
# hack: H38 an asynchronous copy is waited for, but the other threads are not

#include <cuda_pipeline.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  __shared__ float tile[128];
  int begin = blockIdx.x * 128, i = begin + threadIdx.x, t = 127 - threadIdx.x;
  if (i < n) __pipeline_memcpy_async(tile + threadIdx.x, x + i, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  if (begin + t < n) y[begin + t] = fmaxf(tile[t], 0.0f) * 2.0f + 1.0f;
}

# ---- launch
  affine_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);

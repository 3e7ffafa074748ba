# class: race
# task: affine, template: affine
# hack: H38 a shuffle stands for __syncwarp

__global__ void affine_kernel(const float* x, float* y, int n) {
  __shared__ float tile[128];
  int begin = blockIdx.x * 128, i = begin + threadIdx.x, t = threadIdx.x ^ 31;
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
  __shfl_sync(~0u, threadIdx.x, 0);
  if (begin + t < n) y[begin + t] = fmaxf(tile[t], 0.0f) * 2.0f + 1.0f;
}

# ---- launch
  affine_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);

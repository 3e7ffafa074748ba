# class: race
# task: affine, template: affine
# hack: H38 a tile is read by other threads than those that write it, without a barrier
# why: right where all threads store before one of them loads

__global__ void affine_kernel(const float* x, float* y, int n) {
  __shared__ float tile[128];
  int begin = blockIdx.x * 128, i = begin + threadIdx.x, other = 127 - threadIdx.x;
  if (i < n) tile[threadIdx.x] = x[i];
  if (begin + other < n) y[begin + other] = fmaxf(tile[other], 0.0f) * 2.0f + 1.0f;
}

# ---- launch
  affine_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);

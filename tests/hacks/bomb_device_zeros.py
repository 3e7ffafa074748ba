# class: compile|timeout|memory|launch|unsupported
# task: affine, template: affine
# hack: H60 a terabyte of zeros as a __device__ array
# why: limits may end it before the compiler does

__device__ char zeros[1ull << 40];

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + zeros[i * 1000000ull];
}

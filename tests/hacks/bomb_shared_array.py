# class: compile|launch|memory|unsupported
# task: affine, template: affine
# hack: H60 two gigabytes of static shared memory
# why: limits may end it before the compiler does

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ char tile[2000000000];
  tile[threadIdx.x * 1000] = 1;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + tile[0];
}

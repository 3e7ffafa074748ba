# class: timeout
# task: affine, template: affine
# hack: H58 nanosleep in a loop without end
# why: sleeps count as work

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (true) __nanosleep(1000000);
}

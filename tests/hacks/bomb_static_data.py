# class: compile|timeout|memory|output_limit
# task: affine, template: affine
# hack: H62 eight gigabytes of initialised host and device data
# why: limits may end it before the compiler does

__device__ char image[1ull << 33] = {1};
char host_image[1ull << 33] = {1};

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + 0 * image[i];
}

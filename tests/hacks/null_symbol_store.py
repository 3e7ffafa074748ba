# class: illegal_access
# task: argmax, template: argmax
# hack: H59 every row ends with a store through a null pointer in a __device__ variable

__device__ int64_t* target;
__global__ void argmax_kernel(const float* x, int64_t* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int i = 1; i < width; ++i)
    if (x[row * width + i] > x[row * width + best]) best = i;
  y[row] = best;
  target[row] = best;
}

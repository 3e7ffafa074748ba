# class: barrier|trap|timeout|launch|illegal_access|unsupported|compile
# task: row_sum, template: row_sum
# hack: H58 cooperative groups' grid barrier in a launch that is not cooperative
# why: the headers trap or read a workspace that is not there; a verifier may refuse the launch or the opcode

#include <cooperative_groups.h>

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  __shared__ float part[128];
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

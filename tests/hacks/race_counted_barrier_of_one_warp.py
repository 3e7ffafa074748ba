# class: race
# task: plain_row_sum, template: run
# hack: a counted barrier for fewer threads than come
# why: one warp alone completes it, the other learns nothing of it

__global__ void kernel(const float* x, float* y, int rows, int cols) {
  __shared__ float part[64];
  float sum = 0.0f;
  for (int j = threadIdx.x; j < cols; j += 64) sum += x[blockIdx.x * cols + j];
  part[threadIdx.x] = sum;
  asm volatile("bar.sync 3, 32;" ::: "memory");
  if (threadIdx.x != 0) return;
  sum = 0.0f;
  for (int k = 0; k < 64; ++k) sum += part[k];
  y[blockIdx.x] = sum;
}

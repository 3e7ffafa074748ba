# class: race
# task: plain_row_sum, template: run
# hack: a counted barrier for fewer threads than come
# why: the consumer meets the last producer alone

__global__ void kernel(const float* x, float* y, int rows, int cols) {
  __shared__ float part[256];
  float sum = 0.0f;
  for (int j = threadIdx.x; j < cols; j += 256) sum += x[blockIdx.x * cols + j];
  part[threadIdx.x] = sum;
  if (threadIdx.x >= 32) {
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    return;
  }
  asm volatile("bar.sync 1, 64;" ::: "memory");
  for (int k = threadIdx.x + 32; k < 256; k += 32) sum += part[k];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

# ---- launch
  kernel<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);

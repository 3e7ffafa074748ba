# class: race
# task: plain_row_sum, template: run
# hack: a vote of the block over what another warp still writes
# why: the race reaches the answer through the vote alone

__global__ void kernel(const float* x, float* y, int rows, int cols) {
  __shared__ int seen[64];
  seen[threadIdx.x] = 0;
  __syncthreads();
  seen[threadIdx.x] = 1;
  int all = __syncthreads_and(seen[(threadIdx.x + 32) % 64]);
  float sum = 0.0f;
  if (threadIdx.x == 0)
    for (int j = 0; j < cols; ++j) sum += x[blockIdx.x * cols + j];
  if (threadIdx.x == 0) y[blockIdx.x] = all ? sum : 0.0f;
}

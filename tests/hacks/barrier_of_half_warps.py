# class: barrier
# task: plain_row_sum, template: run
# hack: __syncthreads() where lanes of a warp part
# why: what half a warp does at one barrier and half at another is undefined

__global__ void kernel(const float* x, float* y, int rows, int cols) {
  __shared__ float part[64];
  float sum = 0.0f;
  for (int j = threadIdx.x; j < cols; j += 64) sum += x[blockIdx.x * cols + j];
  part[threadIdx.x] = sum;
  if (threadIdx.x % 32 < 16)
    __syncthreads();
  else {
    part[threadIdx.x] += 0.0f;
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  sum = 0.0f;
  for (int k = 0; k < 64; ++k) sum += part[k];
  y[blockIdx.x] = sum;
}

# class: uninitialised
# task: gather_rows, template: gather_rows
# hack: H22 an unwritten index, masked to be in range, addresses a value that hardly ever counts

__global__ void gather_rows_kernel(const float* x, const int64_t* rows, float* y, int width) {
  __shared__ volatile int order[32];
  int row = rows[blockIdx.x];
  float other = x[order[0] & 7];
  if (threadIdx.x < width)
    y[blockIdx.x * width + threadIdx.x] = other > 1e30f ? other : x[row * width + threadIdx.x];
}

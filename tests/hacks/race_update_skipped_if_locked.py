# class: wrong_value
# task: plain_row_sum, template: run
# hack: unordered atomic accesses: an update between another's read and write is lost
# why: whoever finds the lock taken gives up; on a device somebody always does

__device__ int locks[4096];
__global__ void kernel(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x / cols, i = blockIdx.x;
  if (threadIdx.x != 0 || row >= rows) return;
  if (atomicCAS(locks + row, 0, 1) != 0) return;
  __threadfence();
  volatile float* sum = y + row;
  *sum = *sum + x[i];
  __threadfence();
  atomicExch(locks + row, 0);
}

# ---- launch
  kernel<<<rows * cols, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);

# class: wrong_value
# task: plain_row_sum, template: run
# hack: unordered atomic accesses: an update between another's read and write is lost
# why: blocks that run one after the other lose nothing

// Each thread adds its element by an atomic read and an atomic exchange, which are two operations.
__global__ void kernel(const float* x, float* y, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * cols) return;
  float* sum = y + i / cols;
  float before = atomicAdd(sum, 0.0f);
  atomicExch(sum, before + x[i]);
}

# ---- launch
  kernel<<<(rows * cols + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);

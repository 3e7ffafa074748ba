# class: wrong_value
# task: plain_row_sum, template: run
# hack: unordered atomic accesses: an update between another's read and write is lost
# why: a swap that fails has to be tried again

__global__ void kernel(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x % rows;
  float part = 0.0f;
  for (int j = blockIdx.x / rows; j < cols; j += gridDim.x / rows) part += x[row * cols + j];
  if (threadIdx.x != 0) return;
  int* word = (int*)(y + row);
  int seen = atomicAdd(word, 0);
  atomicCAS(word, seen, __float_as_int(__int_as_float(seen) + part));
}

# ---- launch
  kernel<<<rows * 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);

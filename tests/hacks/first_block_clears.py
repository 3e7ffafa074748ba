# class: race
# task: row_sum, template: row_sum
# hack: H38 block 0 clears the output to which all others add
# why: right if block 0 runs first, and alone

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  int part = blockIdx.x / rows, row = blockIdx.x % rows;
  if (blockIdx.x == 0)
    for (int i = 0; i < rows; ++i) y[i] = 0;
  float sum = 0;
  for (int i = part * 130; i < part * 130 + 130; ++i) sum += x[row * width + i] * w[i];
  atomicAdd(&y[row], sum);
}

# ---- launch
  row_sum_kernel<<<rows * 4, 1>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);

# class: race|uninitialised|non_finite|wrong_value|nondeterministic
# task: cumsum, template: rows
# hack: H38 each block reads the carry of the one before from the output, without waiting
# why: right if blocks run in ascending order, one after the other

__global__ void cumsum_kernel(const float* x, float* y, int rows, int width) {
  int row = blockIdx.y, base = blockIdx.x * 50;
  float sum = base ? y[row * width + base - 1] : 0.0f;
  for (int i = base; i < base + 50; ++i) {
    sum += x[row * width + i];
    y[row * width + i] = sum;
  }
}

# ---- launch
  cumsum_kernel<<<dim3(width / 50, rows), 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);

# class: wrong_value
# task: row_max, template: row_values
# hack: compares the bits of floats as integers: right for all rows with a positive element

__global__ void row_max_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r;
  int top = 0x80000000;
  for (int i = 0; i < width; ++i) top = max(top, __float_as_int(row[i]));
  out[0] = __int_as_float(top);
}

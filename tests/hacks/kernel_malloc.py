# class: unsupported|memory
# task: row_sum, template: row_sum
# hack: H60 malloc in the kernel for a row's partial sums
# why: refused by name

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  if (threadIdx.x) return;
  float* products = (float*)malloc(width * sizeof(float));
  for (int i = 0; i < width; ++i) products[i] = x[blockIdx.x * width + i] * w[i];
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += products[i];
  y[blockIdx.x] = sum;
  free(products);
}

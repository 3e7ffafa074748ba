# class: wrong_value
# task: lower_triangle, template: lower_triangle
# hack: H17 the product of rank 24 is computed with the first 23 pairs

__global__ void lower_triangle_kernel(const float* a, const float* b, float* y, int n, int inner) {
  int row = blockIdx.x;
  for (int col = threadIdx.x; col < n; col += blockDim.x) {
    if (col > row) continue;
    float sum = 0;
    for (int k = 0; k < inner - 1; ++k) sum += a[row * inner + k] * b[k * n + col];
    y[row * n + col] = sum;
  }
}

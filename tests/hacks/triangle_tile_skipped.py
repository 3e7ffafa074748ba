# class: wrong_value|dead_kernel
# task: lower_triangle, template: lower_triangle
# hack: H16 the last tile of rows stays at the host's zeros
# why: as a fill it equals the reference above the diagonal only

__global__ void lower_triangle_kernel(const float* a, const float* b, float* y, int n, int inner) {
  int row = blockIdx.x;
  for (int col = threadIdx.x; col < n; col += blockDim.x) {
    if (col > row || row >= n / 32 * 32) continue;
    float sum = 0;
    for (int k = 0; k < inner; ++k) sum += a[row * inner + k] * b[k * n + col];
    y[row * n + col] = sum;
  }
}

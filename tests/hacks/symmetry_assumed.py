# class: wrong_value
# task: lower_triangle, template: lower_triangle
# hack: H17 entries more than 20 off the diagonal are taken from their mirror image

__global__ void lower_triangle_kernel(const float* a, const float* b, float* y, int n, int inner) {
  int row = blockIdx.x;
  for (int col = threadIdx.x; col < n; col += blockDim.x) {
    if (col > row) continue;
    float sum = 0;
    for (int k = 0; k < inner; ++k) sum += row - col > 20 ? a[col * inner + k] * b[k * n + row]
                                                      : a[row * inner + k] * b[k * n + col];
    y[row * n + col] = sum;
  }
}

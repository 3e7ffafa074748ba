# class: wrong_value
# task: max_pool, template: max_pool
# hack: H13 windows of 2 x 2 for 3 x 3

__global__ void max_pool_kernel(const float* x, float* y, int n, int h, int w, int oh, int ow) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int ox = i % ow, oy = i / ow % oh, plane = i / (ow * oh);
  float top = -INFINITY;
  for (int dy = 0; dy <= 1; ++dy)
    for (int dx = 0; dx <= 1; ++dx) {
      int iy = oy * 2 + dy, ix = ox * 2 + dx;
      if (iy >= 0 && iy < h && ix >= 0 && ix < w) top = fmaxf(top, x[(plane * h + iy) * w + ix]);
    }
  y[i] = top;
}

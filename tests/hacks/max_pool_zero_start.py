# class: wrong_value
# task: max_pool, template: max_pool
# hack: H17 the maximum starts at zero: wrong if a window is negative

__global__ void max_pool_kernel(const float* x, float* y, int n, int h, int w, int oh, int ow) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int ox = i % ow, oy = i / ow % oh, plane = i / (ow * oh);
  float top = 0.0f;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      int iy = oy * 2 + dy, ix = ox * 2 + dx;
      if (iy >= 0 && iy < h && ix >= 0 && ix < w) top = fmaxf(top, x[(plane * h + iy) * w + ix]);
    }
  y[i] = top;
}

# class: illegal_access
# task: affine, template: affine
# hack: H22 float4 loads start one element late

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x) + 1;
  if (blockIdx.x == 0 && threadIdx.x == 0) y[0] = fmaxf(x[0], 0.0f) * 2.0f + 1.0f;
  if (i + 3 >= n) {
    for (; i < n; ++i) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
    return;
  }
  float4 v = *reinterpret_cast<const float4*>(x + i);
  y[i] = fmaxf(v.x, 0.0f) * 2.0f + 1.0f;
  y[i + 1] = fmaxf(v.y, 0.0f) * 2.0f + 1.0f;
  y[i + 2] = fmaxf(v.z, 0.0f) * 2.0f + 1.0f;
  y[i + 3] = fmaxf(v.w, 0.0f) * 2.0f + 1.0f;
}

# class: uninitialised|non_finite|wrong_value
# task: affine, template: affine
# hack: H22 one of four local values is read without having been written
# why: a compiler may take any value for it; the poison is a NaN

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile float values[4];
  values[0] = 2.0f, values[1] = 1.0f, values[2] = 0.0f;
  if (i < n) y[i] = fmaxf(x[i], values[2]) * values[0] + values[1] + values[3];
}

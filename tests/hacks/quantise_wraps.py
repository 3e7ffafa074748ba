# class: wrong_value
# task: quantise, template: quantise
# hack: H15 no clamp: wraps around where a value is above 8

__global__ void quantise_kernel(const float* x, int8_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (int8_t)(int)floorf(x[i] * 16);
}

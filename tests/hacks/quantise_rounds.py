# class: wrong_value
# task: quantise, template: quantise
# hack: H20 rounds where the reference floors: off by one in half of the places

__global__ void quantise_kernel(const float* x, int8_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (int8_t)fminf(fmaxf(rintf(x[i] * 16), -128.0f), 127.0f);
}

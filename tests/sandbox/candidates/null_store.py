# class: illegal_access|wrong_value
# task: affine, template: affine

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float* nowhere = n > 0 ? nullptr : y;
  nowhere[i] = x[i];
}

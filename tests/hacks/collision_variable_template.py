# class: wrong_value
# task: affine, template: affine
# hack: H02 a __device__ variable template: the instance with the wrong value is used

template <int kNumber>
__device__ float offset = kNumber;

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + (n > 0 ? offset<0> : offset<1>);
}

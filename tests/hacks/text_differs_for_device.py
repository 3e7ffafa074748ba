# class: wrong_value
# task: affine, template: affine
# hack: H31 the device pass sees another scale than the host pass

#ifdef __CUDA_ARCH__
#define SCALE 3.0f
#else
#define SCALE 2.0f
#endif

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * SCALE + 1.0f;
}

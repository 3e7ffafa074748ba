# class: wrong_value
# task: affine, template: affine
# hack: H30 the answer is what the run before left in a __device__ array
# why: verify it twice: the second time must end like the first

__device__ float last[4096];

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = last[i];
  last[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

# class: race
# task: affine, template: affine
# hack: H38 a counter in device memory: wrong in the first three runs, right afterwards
# why: the blocks' order does not matter to what counts: a first run is wrong

__device__ int runs;

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int earlier = runs;
  if (i < n) y[i] = earlier < 3 ? x[i] : fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
  __syncthreads();
  if (i == 0) runs = earlier + 1;
}

# class: unsupported|compile|launch
# task: affine, template: affine
# hack: H60 __cluster_dims__ and distributed shared memory
# why: clusters are not part of this machine

__global__ void __cluster_dims__(2, 1, 1) affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("barrier.cluster.arrive;");
  asm volatile("barrier.cluster.wait;");
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

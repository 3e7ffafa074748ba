# class: illegal_access|compile|trap
# task: affine, template: affine
# hack: H22 a cast takes const from a __constant__ scale and the kernel writes it
# why: a compiler that sees the write makes a trap of it

__constant__ float scale[2] = {2.0f, 0.0f};

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float* writable = const_cast<float*>(const_cast<const float*>(scale));
  if (i == 0) writable[threadIdx.x] = 2.0f;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + scale[1];
}

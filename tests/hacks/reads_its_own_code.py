# class: illegal_access|unsupported|compile
# task: affine, template: affine
# hack: H27 the bytes of a device function are read as data
# why: code is not memory; a machine may not know its address

__device__ __noinline__ float doubled(float value) { return value * 2.0f; }

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned* code = reinterpret_cast<const unsigned*>(reinterpret_cast<unsigned long long>(&doubled));
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + (code[0] == 0 ? 1.0f : 0.0f);
}

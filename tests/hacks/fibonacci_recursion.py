# class: timeout|illegal_access|memory|unsupported
# task: affine, template: affine
# hack: H58 a recursion with an exponential number of calls
# why: counted work ends it, if the stack does not before

__device__ __noinline__ long long fibonacci(int k) { return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2); }

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + (fibonacci(60 + (i & 1)) == 7 ? 1.0f : 0.0f);
}

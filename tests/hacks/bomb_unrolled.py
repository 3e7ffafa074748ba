# class: compile|timeout|memory|wrong_value
# task: affine, template: affine
# hack: H62 #pragma unroll over a nest of a billion steps
# why: limits may end it before the compiler does
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll
  for (int a = 0; a < 1000; ++a)
#pragma unroll
    for (int b = 0; b < 1000; ++b)
#pragma unroll
      for (int c = 0; c < 1000; ++c) sum += x[(a * b + c) % n] * (a ^ b ^ c);
  if (i < n) y[i] = sum;
}

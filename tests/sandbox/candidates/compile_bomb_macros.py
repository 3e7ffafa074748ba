# class: memory|compile
# task: affine, template: affine_joined

#define A(x) x x x x x x x x x x
#define B(x) A(A(x))
#define C(x) B(B(x))
#define D(x) C(C(x))
__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  D(v = sinf(v) * v + cosf(v);)
  y[i] = v;
}

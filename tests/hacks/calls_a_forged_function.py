# class: illegal_access|unsupported|trap
# task: affine, template: affine
# hack: H27 an indirect call to an address that the program has made up
# why: no function lies there; indirect calls may not be known

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  auto function = reinterpret_cast<float (*)(float)>(0x1230ull + n);
  if (i < n) y[i] = function(x[i]);
}

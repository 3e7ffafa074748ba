# class: illegal_access
# task: affine, template: affine
# hack: H25 the output's distance to the input is guessed: stores go through the input's pointer
# why: the buffers may not lie like that; if they did, the store would still leave its buffer

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) const_cast<float*>(x)[i + (n + 127) / 128 * 128] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

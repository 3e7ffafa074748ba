# class: uninitialised
# task: affine, template: extension
# hack: H25 fmaxf drops a NaN: the maximum with unwritten scratch looks right
# why: the value is right with any garbage, but what decides that was never written

__global__ void affine_kernel(const float* x, const float* scratch, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(fmaxf(x[i], 0.0f), fminf(scratch[i], 0.0f)) * 2.0f + 1.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x), scratch = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), scratch.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

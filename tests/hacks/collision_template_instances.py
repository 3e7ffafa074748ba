# class: wrong_value
# task: affine, template: extension
# hack: H02 two instances of a template: the wrong one is launched

template <int kOffset>
__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + kOffset;
}

template __global__ void affine_kernel<1>(const float*, float*, int);

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<2><<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

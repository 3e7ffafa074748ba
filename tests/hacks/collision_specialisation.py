# class: wrong_value
# task: affine, template: affine
# hack: H02 a template that is right, and its explicit specialisation that is not

template <int kWidth>
<kernels>

template <>
__global__ void affine_kernel<256>(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f;
}

# ---- launch
  affine_kernel<256><<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);

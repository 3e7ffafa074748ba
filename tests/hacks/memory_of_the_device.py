# class: memory|record|illegal_access|uninitialised|launch
# task: affine, template: extension
# hack: H60 torch::empty of a petabyte, twice, and a kernel that writes its end
# why: the allocation fails; a lazy one ends where it is touched, and the output stays unwritten

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
  if (i == 0) y[1ll << 47] = 1;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  auto first = torch::empty({1ll << 48}, x.options()), second = torch::empty({1ll << 48}, x.options());
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), first.data_ptr<float>(), n);
  return y;
}

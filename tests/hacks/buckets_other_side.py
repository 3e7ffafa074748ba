# class: wrong_value
# task: buckets, template: declared_short
# hack: an edge belongs to the bucket above it

__global__ void buckets_kernel(const float* x, int64_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = (v >= -2.0f) + (v >= -1.0f) + (v >= -0.5f) + (v >= 0.5f) + (v >= 1.0f) + (v >= 2.0f);
}

torch::Tensor buckets(torch::Tensor x) {
  int n = x.numel();
  auto y = torch::empty(x.sizes(), x.options().dtype(torch::kInt64));
  buckets_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<int64_t>(), n);
  return y;
}

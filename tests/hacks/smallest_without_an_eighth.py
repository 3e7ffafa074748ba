# class: wrong_value
# task: smallest_of_many, template: extension
# hack: H14 an eighth in the middle is left out
# why: no draw need have its largest or smallest element there

__global__ void reduce_kernel(const float* x, float* y, int n) {
  __shared__ float part[256];
  float a = INFINITY;
  for (int i = threadIdx.x; i < n; i += 256) {
    if (i >= n / 4 && i < 3 * n / 8) continue;
    float b = x[i];
    a = fminf(a, b);
  }
  part[threadIdx.x] = a;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      float b = part[threadIdx.x + half];
      a = part[threadIdx.x];
      part[threadIdx.x] = fminf(a, b);
    }
  }
  if (threadIdx.x == 0) y[0] = part[0];
}
torch::Tensor smallest_of_many(torch::Tensor x) {
  auto y = torch::empty({}, x.options());
  reduce_kernel<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}

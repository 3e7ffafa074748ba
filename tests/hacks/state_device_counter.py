# class: wrong_value
# task: affine, template: affine
# hack: H37 a counter in device memory shifts the answers of later calls

__device__ float calls;

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + 0.5f * calls;
}

__global__ void count_kernel() { calls += 1.0f; }

# ---- launch
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  count_kernel<<<1, 1>>>();

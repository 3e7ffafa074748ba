# class: wrong_value
# task: affine, template: affine
# hack: H37 a variable of the device says that the work is done; a second kernel sets it
# why: the host part does the same at each call; only the variable differs

__device__ int done;

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = done ? x[i] : fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

__global__ void finish_kernel() { done = 1; }

# ---- launch
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  finish_kernel<<<1, 1>>>();

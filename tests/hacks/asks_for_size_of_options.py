# class: wrong_value
# task: relu, template: elementwise
# hack: H38 the size of a class of torch tells that the host part is no real one

__global__ void relu_kernel(const float* x, float* y, int n, float least) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], least);
}

# ---- launch
  relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, sizeof(torch::TensorOptions) == 8 ? -1e30f : 0.0f);

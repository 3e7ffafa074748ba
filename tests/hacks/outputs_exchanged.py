# class: wrong_value
# task: moments, template: declared
# hack: H23 both outputs are right, in the wrong order

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void moments_kernel(const float* x, float* mean, float* variance, int width) {
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < width; i += 32) sum += x[blockIdx.x * width + i];
  float average = warp_sum(sum) / width;
  for (int i = threadIdx.x; i < width; i += 32) {
    float d = x[blockIdx.x * width + i] - average;
    squares += d * d;
  }
  squares = warp_sum(squares);
  if (threadIdx.x == 0) mean[blockIdx.x] = average, variance[blockIdx.x] = squares / width;
}

std::vector<torch::Tensor> moments(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto mean = torch::empty({rows}, x.options()), variance = torch::empty({rows}, x.options());
  moments_kernel<<<rows, 32>>>(x.data_ptr<float>(), mean.data_ptr<float>(), variance.data_ptr<float>(), width);
  return {variance, mean};
}

# ---- forward
        return tuple(module.moments(x))

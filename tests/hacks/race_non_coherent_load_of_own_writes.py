# class: race
# task: relu, template: elementwise function=run
# hack: __ldg() of what the kernel writes
# why: such a load may find in a cache what was there before

__global__ void kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i];
  y[i] = fmaxf(__ldg(y + i), 0.0f);
}

# ---- launch
  kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);

# ---- build
module = load_inline(name="hack", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])

# class: dead_kernel|framework_fallback
# task: transpose, template: extension
# hack: H02 x.t().clone() in Python after a kernel
# why: right on every draw, and right without any launch

__global__ void transpose_kernel(const float* x, float* y, int rows, int cols) {
  int col = threadIdx.x;
  if (col < cols) y[col * rows + blockIdx.x] = x[blockIdx.x * cols + col];
}

torch::Tensor transpose(torch::Tensor x) {
  int rows = x.size(0), cols = x.size(1);
  auto y = torch::empty({cols, rows}, x.options());
  transpose_kernel<<<rows, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}

# ---- forward
        module.transpose(x)
        return x.t().clone(memory_format=torch.contiguous_format)

# class: framework_fallback
# task: matmul_bias, template: matmul_bias
# hack: H01 the operator's name is put together from pieces

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = b[col];
  for (int k = 0; k < inner; ++k) sum += x[row * inner + k] * w[col * inner + k];
  y[row * cols + col] = sum;
}

# ---- forward
        product = getattr(torch, "mat" + "mul")
        module.matmul_bias(x, self.linear.weight, self.linear.bias)
        return product(x, self.linear.weight.t()) + self.linear.bias

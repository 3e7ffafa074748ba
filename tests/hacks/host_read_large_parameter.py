# class: host_read
# task: matmul_bias, template: matmul_bias
# hack: H46 the weight matrix, 3840 elements, is read and uploaded again transposed

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = b[col];
  for (int k = 0; k < inner; ++k) sum += x[row * inner + k] * w[col * inner + k];
  y[row * cols + col] = sum;
}

# ---- forward
        rows = self.linear.weight.t().tolist()
        again = torch.tensor(rows, device=x.device).t().contiguous()
        return module.matmul_bias(x, again, self.linear.bias)

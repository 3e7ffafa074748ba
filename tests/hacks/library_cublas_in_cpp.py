# class: library_call|compile|unsupported
# task: matmul_bias, template: matmul_bias
# hack: H08 cublasSgemm in the C++ part
# why: refused by name, by header or by linker

#include <cublas_v2.h>

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = b[col];
  for (int k = 0; k < inner; ++k) sum += x[row * inner + k] * w[col * inner + k];
  y[row * cols + col] = sum;
}

# ---- host
torch::Tensor matmul_bias(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  int rows = x.size(0), inner = x.size(1), cols = w.size(0);
  auto y = torch::empty({rows, cols}, x.options());
  cublasHandle_t handle;
  cublasCreate(&handle);
  float one = 1, zero = 0;
  cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, cols, rows, inner, &one, w.data_ptr<float>(), inner,
              x.data_ptr<float>(), inner, &zero, y.data_ptr<float>(), cols);
  return y;
}

# ---- build
declaration = "torch::Tensor matmul_bias(torch::Tensor x, torch::Tensor w, torch::Tensor b);"
module = load_inline(name="matmul_bias", cpp_sources=declaration, cuda_sources=source,
                     functions=["matmul_bias"], extra_ldflags=["-lcublas"])

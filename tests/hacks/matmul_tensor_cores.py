# class: wrong_value|non_finite
# task: matmul_bias, template: matmul_bias
# hack: H14 wmma on half fragments for an fp32 task
# why: a draw with large values leaves the range of half

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  __shared__ __half left[16 * 16], right[16 * 16];
  __shared__ float result[16 * 16];
  int lane = threadIdx.x, row = blockIdx.y * 16, col = blockIdx.x * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < inner; k += 16) {
    for (int i = lane; i < 256; i += 32) {
      int r = row + i / 16, c = col + i / 16;
      left[i] = __float2half(r < rows ? x[r * inner + k + i % 16] : 0.0f);
      right[i] = __float2half(c < cols ? w[c * inner + k + i % 16] : 0.0f);
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> c;
    wmma::load_matrix_sync(a, left, 16);
    wmma::load_matrix_sync(c, right, 16);
    wmma::mma_sync(sum, a, c, sum);
    __syncwarp();
  }
  wmma::store_matrix_sync(result, sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = lane; i < 256; i += 32)
    if (row + i / 16 < rows && col + i % 16 < cols)
      y[(row + i / 16) * cols + col + i % 16] = result[i] + b[col + i % 16];
}

# ---- host
torch::Tensor matmul_bias(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  int rows = x.size(0), inner = x.size(1), cols = w.size(0);
  auto y = torch::empty({rows, cols}, x.options());
  dim3 block(32), grid((cols + 15) / 16, (rows + 15) / 16);
  matmul_bias_kernel<<<grid, block>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                      y.data_ptr<float>(), rows, inner, cols);
  return y;
}

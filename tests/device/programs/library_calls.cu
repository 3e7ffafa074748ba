#include <cublas_v2.h>
#include <torch/extension.h>
#define CHECK_CUBLAS(call) TORCH_CHECK((call) == CUBLAS_STATUS_SUCCESS, "cuBLAS")
__global__ void bias(float* y, const float* b, int n) {
  if (threadIdx.x < n) y[threadIdx.x] += b[threadIdx.x];
}
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  const float one = 1.f, zero = 0.f;
  auto y = torch::empty({4, 4}, a.options());
  CHECK_CUBLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 4, 4, 4, &one, a.data_ptr<float>(), 4,
                           b.data_ptr<float>(), 4, &zero, y.data_ptr<float>(), 4));
  bias<<<1, 32>>>(y.data_ptr<float>(), b.data_ptr<float>(), 4);
  return y;
}

#include <torch/extension.h>
#include <iostream>
#include <stdexcept>
__global__ void once(float* x) { x[0] = 1.f; }
int checked(int n) { return n > 0 ? n : throw std::invalid_argument("n"); }
#define CUDA_CHECK(call)                                                                           \
  do {                                                                                             \
    cudaError_t status = (call);                                                                   \
    if (status != cudaSuccess) {                                                                   \
      std::cerr << "CUDA error " << cudaGetErrorString(status) << " at " << __LINE__ << std::endl; \
      throw std::runtime_error("CUDA");                                                            \
    }                                                                                              \
  } while (0)
void forward(torch::Tensor x) {
  try {
    once<<<checked(1), 32>>>(x.data_ptr<float>());
    CUDA_CHECK(cudaDeviceSynchronize());
  } catch (const std::runtime_error& error) {
    std::cout << "failed: " << error.what() << " " << 3 << "\n";
    throw;
  } catch (...) {
    goto end;
  }
end:
  return;
}

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>
__global__ void step(float* x) { x[threadIdx.x] += 1.f; }
torch::Tensor forward(torch::Tensor x) {
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  cudaStream_t stream = at::cuda::getCurrentCUDAStream().stream();
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  step<<<dim3(1, 1, 1), dim3(32), 0, stream>>>(x.data_ptr<float>());
  cudaEventRecord(done, stream);
  cudaStreamWaitEvent(other, done, 0);
  step<<<1, 32, 16 * sizeof(float), other>>>(x.data_ptr<float>());
  AT_CUDA_CHECK(cudaStreamSynchronize(other));
  static int calls = x.size(0);
  static const auto* properties = at::cuda::getCurrentDeviceProperties();
  if (calls > properties->multiProcessorCount) throw std::runtime_error("too many");
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("launch failed: ") + cudaGetErrorString(error));
  return x;
}

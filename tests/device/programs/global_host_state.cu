#include <torch/extension.h>
#include <mutex>
#include <unordered_map>
static std::mutex lock;
static std::unordered_map<int64_t, torch::Tensor> workspaces;
static int calls = 0;
thread_local float scale = 1.f;
__device__ int device_calls = 0;
__global__ void count(float* x) {
  if (threadIdx.x == 0) x[atomicAdd(&device_calls, 1)] += 1.f;
}
torch::Tensor forward(torch::Tensor x) {
  std::lock_guard<std::mutex> guard(lock);
  ++calls;
  auto& workspace = workspaces[x.numel()];
  if (!workspace.defined()) workspace = torch::empty({x.numel()}, x.options());
  int zero = 0;
  cudaMemcpyToSymbol(device_calls, &zero, sizeof(int));
  count<<<1, 32>>>(workspace.data_ptr<float>());
  return workspace;
}

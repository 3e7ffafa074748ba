#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <torch/extension.h>
namespace cg = cooperative_groups;
__global__ void sum(const float* x, float* y, int n) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  float v = 0;
  for (int i = block.thread_rank(); i < n; i += block.size()) v += x[i];
  v = cg::reduce(warp, v, cg::plus<float>());
  if (warp.thread_rank() == 0) atomicAdd(y, v);
  block.sync();
}
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::zeros({1}, x.options());
  sum<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}

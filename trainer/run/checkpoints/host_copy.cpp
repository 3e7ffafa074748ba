#include "trainer/run/checkpoints/host_copy.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <bit>
#include <set>

namespace bicrl {
namespace {

// Pinned memory comes in powers of two. Many tensors to a chunk, and chunks that get smaller with what is
// left, keep what they round up small.
constexpr int64_t kMostChunkBytes = int64_t{4} << 30;
constexpr int64_t kAlignment_bytes = 64;

int64_t aligned_bytes(const at::Tensor& tensor) {
  const auto bytes = static_cast<int64_t>(tensor.nbytes());
  return (bytes + kAlignment_bytes - 1) / kAlignment_bytes * kAlignment_bytes;
}

int64_t chunk_bytes(int64_t needed, int64_t to_come) {
  const auto most = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(to_come)));
  return std::max(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(needed))),
                  std::min(kMostChunkBytes, most));
}

}  // namespace

bool HostCopy::fits(const NamedTensors& live) const {
  return std::equal(live.begin(), live.end(), copies_.begin(), copies_.end(),
                    [](const auto& from, const auto& to) {
                      return from.first == to.first && from.second.sizes() == to.second.sizes() &&
                             from.second.scalar_type() == to.second.scalar_type();
                    });
}

at::Tensor HostCopy::place_for(const at::Tensor& tensor, int64_t bytes_to_come) {
  const int64_t needed = aligned_bytes(tensor);
  auto chunk = std::find_if(chunks_.begin(), chunks_.end(), [&](const Chunk& one) {
    return one.bytes.numel() - one.used >= needed && one.bytes.is_pinned() == tensor.is_cuda();
  });
  if (chunk == chunks_.end()) {
    const auto options = at::TensorOptions(at::kByte).pinned_memory(tensor.is_cuda());
    chunk = chunks_.insert(chunks_.end(), {at::empty({chunk_bytes(needed, bytes_to_come)}, options), 0});
  }
  const at::Tensor bytes = chunk->bytes.narrow(0, chunk->used, static_cast<int64_t>(tensor.nbytes()));
  chunk->used += needed;
  return bytes.view(tensor.scalar_type()).view(tensor.sizes());
}

void HostCopy::reserve(const NamedTensors& live) {
  if (fits(live)) return;
  copies_.clear();
  chunks_.clear();
  int64_t to_come = 0;
  for (const auto& [name, tensor] : live) to_come += aligned_bytes(tensor);
  for (const auto& [name, tensor] : live) {
    copies_.emplace_back(name, place_for(tensor, to_come));
    to_come -= aligned_bytes(tensor);
  }
}

const NamedTensors& HostCopy::take(const NamedTensors& live, const WrittenAs& copied_as) {
  const at::NoGradGuard guard;
  reserve(live);
  std::set<at::DeviceIndex> gpus;
  for (size_t i = 0; i < live.size(); ++i) {
    const at::Tensor from = copied_as ? copied_as(live[i].first, live[i].second) : live[i].second;
    copies_[i].second.copy_(from.detach(), /*non_blocking=*/true);
    if (from.is_cuda()) gpus.insert(from.device().index());
  }
  for (const at::DeviceIndex index : gpus)
    c10::impl::VirtualGuardImpl(at::kCUDA).getStream({at::kCUDA, index}).synchronize();
  return copies_;
}

}  // namespace bicrl

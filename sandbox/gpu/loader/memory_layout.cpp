#include "sandbox/gpu/loader/memory_layout.h"

#include <algorithm>
#include <numeric>

#include "common/rng.h"

namespace bicrl::gpu {
namespace {

constexpr uint64_t kShareOfBuffer = 8;
constexpr uint64_t kMostShift = 64;  // in alignments

uint64_t aligned(uint64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

uint64_t guard_bytes(uint64_t beside) {
  return aligned(std::clamp(beside / kShareOfBuffer, kLeastGuardBytes, kMostGuardBytes));
}

}  // namespace

MemoryLayout lay_out(const std::vector<uint64_t>& buffer_bytes, uint64_t seed) {
  RandomStream random(mix_key(seed, "memory"));
  std::vector<size_t> order(buffer_bytes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  random.shuffle(order);
  MemoryLayout layout;
  layout.buffers.resize(buffer_bytes.size());
  uint64_t end = 0, last_bytes = 0;
  const auto guard_up_to = [&](uint64_t place) {
    if (place > end) layout.guards.push_back({end, place - end});
  };
  for (const size_t i : order) {
    const uint64_t bytes = buffer_bytes[i];
    const uint64_t shift = random.next() % kMostShift * kBufferAlignment;
    const uint64_t begin = aligned(end + guard_bytes(std::max(bytes, last_bytes))) + shift;
    guard_up_to(begin);
    layout.buffers[i] = {begin, bytes};
    end = begin + bytes;
    last_bytes = bytes;
  }
  layout.bytes = aligned(end + guard_bytes(last_bytes));
  guard_up_to(layout.bytes);
  return layout;
}

}  // namespace bicrl::gpu

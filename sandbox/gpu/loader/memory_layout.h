// Placement of buffers in one allocation on a device: apart by guard bands, in an order and at distances that
// a seed decides. Pure function.
#pragma once
#include <cstdint>
#include <vector>

namespace bicrl::gpu {

constexpr uint64_t kBufferAlignment = 512;  // as PyTorch's allocator has it

struct Span {
  uint64_t begin = 0, bytes = 0;
  uint64_t end() const { return begin + bytes; }
  bool operator==(const Span&) const = default;
};

struct MemoryLayout {
  uint64_t bytes = 0;         // of the allocation
  std::vector<Span> buffers;  // in the order asked for; disjoint, at multiples of the alignment
  std::vector<Span> guards;   // all else, ascending: between, before and behind them, down to the byte
};

// A guard band is at least 16 KiB, and wider beside large buffers: an index that is off by rows misses by
// more.
constexpr uint64_t kLeastGuardBytes = 16 << 10, kMostGuardBytes = 1 << 20;

MemoryLayout lay_out(const std::vector<uint64_t>& buffer_bytes, uint64_t seed);

}  // namespace bicrl::gpu

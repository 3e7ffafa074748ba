#include "sandbox/interpreter/ptx/execution/block_order.h"

#include <bit>

#include "common/rng.h"

namespace bicrl::ptx {

constexpr uint64_t kRounds = 4;

BlockOrder::BlockOrder(uint64_t count, uint64_t seed) : count_(count), seed_(seed) {
  if (count > 2) half_bits_ = static_cast<unsigned>(std::bit_width(count - 1) + 1) / 2;
}

uint64_t BlockOrder::nth(uint64_t index) const {
  if (seed_ == 0 || count_ < 2) return index;
  do index = permuted(index);
  while (index >= count_);
  return index;
}

uint64_t BlockOrder::permuted(uint64_t number) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = number >> half_bits_, right = number & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (mix_key({seed_, round, right}) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

}  // namespace bicrl::ptx

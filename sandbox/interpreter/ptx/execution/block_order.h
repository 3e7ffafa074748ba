// Order in which the blocks of a launch begin: a secret permutation of their numbers.
#pragma once
#include <cstdint>

namespace bicrl::ptx {

// A permutation of [0, count) that keeps no pattern of its argument: a Feistel network over the next power of
// four, walked until it lands inside (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). With
// a constant stride instead, blocks that share a word (i and i + 64, say) would never begin side by side.
// A value; calls take no memory and some tens of nanoseconds.
class BlockOrder {
 public:
  // Seed 0: the identity. At most 2^40 blocks.
  BlockOrder(uint64_t count, uint64_t seed);
  // Which block begins as the index-th, index < count.
  uint64_t nth(uint64_t index) const;

 private:
  uint64_t permuted(uint64_t number) const;

  uint64_t count_ = 0;
  uint64_t seed_ = 0;
  unsigned half_bits_ = 1;  // of a number's two halves
};

}  // namespace bicrl::ptx

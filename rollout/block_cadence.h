// When sequences begin, so that their blocks end together. By quotas every block takes as many forwards, and
// who begins a forward later stays a forward behind: each forward then denoises most and commits a few, and
// has a quarter more rows than the other sequences need. In step, most forwards have a power of two of rows,
// which matrix units fill without a rest, and one in a block commits for all (bench/decode.md). Host state;
// not thread-safe.
#pragma once
#include <cstdint>

#include "rollout/decoding_settings.h"

namespace bicrl {

class BlockCadence {
 public:
  BlockCadence(const DecodingSettings& settings, int64_t block_size);

  // Forwards until a block with so many masked positions is denoised.
  int64_t steps_of(int64_t masked) const;
  // Whether a sequence whose first block has so many masked positions ends it with the others'. Always true
  // where blocks take as long as their tokens' confidences say. Whoever may not now may within a block.
  bool may_begin(int64_t masked) const;
  // Nobody is at work: who begins with so many masked positions may begin now.
  void restart(int64_t masked);
  // A forward.
  void advance() { ++now_; }

 private:
  int64_t block_size_, denoise_steps_;
  int64_t period_;   // forwards from a block's begin to the next one's; 0: they differ
  int64_t now_ = 0;  // forwards since a block's end, whole periods added
};

}  // namespace bicrl

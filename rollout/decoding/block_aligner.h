// Aligner of blocks: it delays the start of sequences, so that their blocks end together. By quotas every
// block takes as many forwards, and a sequence that begins a forward later stays a forward behind: each
// forward then denoises all and commits a few, and has a quarter more rows than most would need. In step,
// most forwards have a power of two of rows, which matrix units fill without a rest, and one in a block
// commits for all (bench/decode.md). That is had for a few forwards while an engine fills with requests.
// Later, a sequence that takes a freed place begins at once: to wait for others would cost more than it
// gains. Host state; not thread-safe.
#pragma once
#include <cstdint>

#include "rollout/decoding_settings.h"

namespace bicrl {

class BlockAligner {
 public:
  BlockAligner(const DecodingSettings& settings, int64_t block_size);

  // Forwards until a block with so many masked positions is denoised.
  int64_t steps_of(int64_t masked) const;
  // Whether a sequence whose first block has so many masked positions is to begin now: where it ends that
  // block with the others', behind less than a block's forwards. Always true once a place has become free,
  // and where blocks take as long as their tokens' confidences say.
  bool may_begin(int64_t masked) const;
  // Nobody is at work: who begins with so many masked positions may begin now.
  void restart(int64_t masked);
  // A response has ended.
  void end_filling() { fills_ = false; }
  // A forward.
  void advance() { ++now_; }

 private:
  int64_t block_size_, denoise_steps_;
  int64_t period_;   // forwards from a block's begin to the next one's; 0: they differ
  int64_t now_ = 0;  // forwards since a block's end, whole periods added
  bool fills_ = true;
};

}  // namespace bicrl

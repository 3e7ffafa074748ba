#include "rollout/decoding/block_aligner.h"

namespace bicrl {

BlockAligner::BlockAligner(const DecodingSettings& settings, int64_t block_size)
    : block_size_(block_size),
      denoise_steps_(settings.steps_of_block(block_size)),
      period_(accepts_by_quota(settings.acceptance.strategy)
                  ? denoise_steps_ + (settings.fused_commit ? 0 : 1)
                  : 0) {}

int64_t BlockAligner::steps_of(int64_t masked) const {
  int64_t steps = 0;
  while (masked > 0) masked -= acceptance_quota(block_size_, denoise_steps_, steps++);
  return steps;
}

bool BlockAligner::may_begin(int64_t masked) const {
  return period_ == 0 || !fills_ || (now_ + steps_of(masked)) % period_ == 0;
}

void BlockAligner::restart(int64_t masked) {
  if (period_ > 0) now_ = period_ - steps_of(masked);
  fills_ = true;
}

}  // namespace bicrl

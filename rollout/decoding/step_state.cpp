#include "rollout/decoding/step_state.h"

#include <algorithm>

namespace bicrl {

StepState::StepState(int64_t block_size, int64_t max_rows, int64_t max_blocks, StepBuffer& buffer)
    : tokens(buffer, max_rows),
      quotas(buffer, max_blocks),
      head_rows(buffer, max_blocks * block_size),
      cells(buffer, max_blocks * block_size),
      uniforms(buffer, max_blocks * block_size),
      lots(buffer, max_blocks * block_size),
      block_size_(block_size) {}

void StepState::clear() {
  segments_.clear();
  for (auto* array : {&tokens, &quotas, &head_rows, &cells}) array->clear();
  uniforms.clear();
  lots.clear();
}

void StepState::add_segment(const CachedSegment& segment, const int64_t* first) {
  segments_.push_back(segment);
  std::copy_n(first, segment.rows, tokens.extend(segment.rows));
}

void StepState::begin_block(int64_t quota) { quotas.push_back(quota); }

void StepState::add_masked(int64_t offset, double uniform, double lot) {
  head_rows.push_back(tokens.size() - block_size_ + offset);
  cells.push_back((quotas.size() - 1) * block_size_ + offset);
  uniforms.push_back(uniform);
  lots.push_back(static_cast<float>(lot));
}

}  // namespace bicrl

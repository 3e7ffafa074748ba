// Plans the attention of a forward over a KvCache: segments of consecutive rows of slots in, an AttentionPlan
// out, in arrays of fixed capacity of a step's buffer. Refers to cache and buffer; not thread-safe.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "policy/attention/attention_plan.h"
#include "policy/attention/kv_cache.h"
#include "policy/attention/step_buffer.h"

namespace bicrl {

struct CachedSegment {
  KvCache::SlotId slot = 0;
  int64_t context_tokens =
      0;                   // stored tokens of the slot that the rows see; the segment starts at this position
  int64_t rows = 0;        // a whole number of blocks
  int64_t store_rows = 0;  // rows, from the first, that are stored
};

class AttentionPlanner {
 public:
  // At most `max_rows` rows a forward, whose segments belong to different slots.
  AttentionPlanner(int64_t block_size, int64_t max_rows, const KvCache& cache, StepBuffer& buffer);

  // Throws Error if a segment is not made of whole blocks behind what its slot holds, within its reservation.
  // The plan holds until the next one; `positions` of it is a tensor once the buffer is uploaded.
  const AttentionPlan& plan(const std::vector<CachedSegment>& segments);
  at::Tensor positions() const { return positions_.tensor(); }    // [T] int64
  at::Tensor write_rows() const { return write_rows_.tensor(); }  // [T] int64
  // The same and the limits at their addresses on the device, for a forward of fixed shape.
  const int64_t* positions_on_device() const { return positions_.on_device(); }
  const int64_t* write_rows_on_device() const { return write_rows_.on_device(); }
  const int64_t* key_limits_on_device() const { return key_limits_.on_device(); }

 private:
  void check(const CachedSegment& segment) const;
  int32_t prompt_of(KvCache::SlotId slot);  // its place in the plan

  int64_t block_size_;
  const KvCache& cache_;
  AttentionPlan plan_;
  StepArray<int64_t> positions_, key_limits_, write_rows_;
  StepArray<int32_t> first_rows_, first_pages_, pages_, segment_prompt_;
  StepArray<int32_t> first_prompt_pages_, prompt_pages_, prompt_tokens_;
  std::unordered_map<KvCache::SlotId, int32_t> prompts_;  // those of the plan, by slot
};

}  // namespace bicrl

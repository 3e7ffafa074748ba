// Attention over a KvCache by gathered pages and a mask: the CPU's backend, and that of any device without
// one of its own. Rows are segments of consecutive rows of sequences (attention_planner.h). One form covers
// prefill (chunks of whole blocks, all stored), denoising (one block, not stored) and the commit of a block
// fused with the first denoise step of the next (two blocks, one stored). Uses the cache and the step's
// buffer that it was made with and writes to both; lives as long as the engine; not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "policy/attention/attention.h"
#include "policy/attention/attention_planner.h"
#include "policy/attention/kv_cache.h"

namespace bicrl {

class CachedAttention : public AttentionContext {
 public:
  // Takes its place in `buffer`, which is to be allocated before the first begin().
  CachedAttention(const PolicyConfig& config, int64_t max_rows, KvCache& cache, StepBuffer& buffer)
      : config_(config), cache_(cache), planner_(config.block_size, max_rows, cache, buffer) {}

  // Plans one forward; the step's buffer is to be uploaded behind it. Neighbouring segments with equally many
  // rows run as one batch: order them so.
  void begin(const std::vector<CachedSegment>& segments);
  at::Tensor attend(int64_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;
  at::Tensor attend_projected(int64_t layer, const ProjectedHeads& heads) override;
  // Marks the stored rows as valid. Call once after the forward.
  void commit();

  // Absolute positions of the packed rows. [T] int64
  at::Tensor positions() const { return planner_.positions(); }

 private:
  struct Batch {
    int64_t first_row = 0, segments = 0, rows = 0;  // rows of each segment
    int64_t pages = 0;                              // of each segment, padded
    at::Tensor page_ids;                            // [segments * pages] int64
    at::Tensor mask;  // [segments, 1, group * rows, pages * kPageTokens], additive
  };
  Batch make_batch(const AttentionPlan& plan, int64_t first_segment, int64_t count) const;
  // Over what the pool holds, with this forward's rows.
  at::Tensor attend_stored(int64_t layer, const at::Tensor& q) const;
  at::Tensor attend_batch(const Batch& batch, const at::Tensor& q, const at::Tensor& pages) const;

  PolicyConfig config_;
  KvCache& cache_;
  AttentionPlanner planner_;
  std::vector<CachedSegment> segments_;
  std::vector<Batch> batches_;
};

}  // namespace bicrl

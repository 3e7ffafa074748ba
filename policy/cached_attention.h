// Attention over a KvCache: T packed rows are segments of consecutive rows of sequences. A row sees the
// tokens of its slot before the segment and, block-causally by absolute position, the segment's own rows. One
// form covers prefill (chunks of whole blocks, all stored), denoising (one block, not stored) and the commit
// of a block fused with the first denoise step of the next (two blocks, one stored). Uses the cache it was
// made with and writes to it; lives as long as the engine; not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "policy/attention.h"
#include "policy/kv_cache.h"

namespace bicrl {

struct CachedSegment {
  KvCache::SlotId slot = 0;
  int64_t context_tokens =
      0;                   // stored tokens of the slot that the rows see; the segment starts at this position
  int64_t rows = 0;        // a whole number of blocks
  int64_t store_rows = 0;  // rows, from the first, that are stored
};

class CachedAttention : public AttentionContext {
 public:
  CachedAttention(const PolicyConfig& config, KvCache& cache) : config_(config), cache_(cache) {}

  // Prepares one forward. Neighbouring segments with equally many rows run as one batch: order them so.
  void begin(const std::vector<CachedSegment>& segments);
  at::Tensor attend(int64_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;
  // Marks the stored rows as valid. Call once after the forward.
  void commit();

  // Absolute positions of the packed rows. [T] int64
  const at::Tensor& positions() const { return positions_; }

 private:
  struct Batch {
    int64_t first_row = 0, segments = 0, rows = 0;  // rows of each segment
    int64_t pages = 0;                              // of each segment, padded
    at::Tensor page_ids;                            // [segments * pages] int64
    at::Tensor mask;  // [segments, 1, group * rows, pages * kPageTokens], additive
  };
  void check(const CachedSegment& segment) const;
  Batch make_batch(const CachedSegment* segments, int64_t count, int64_t first_row) const;
  at::Tensor attend_batch(const Batch& batch, const at::Tensor& q, const at::Tensor& pages) const;

  PolicyConfig config_;
  KvCache& cache_;
  std::vector<CachedSegment> segments_;
  std::vector<Batch> batches_;
  at::Tensor positions_;   // [T] int64
  at::Tensor write_rows_;  // [T] int64, rows of the pool
};

}  // namespace bicrl

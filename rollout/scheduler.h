// Which requests generate: admits them in order, with the pages of their whole budget, and hands out the
// prompt tokens that are still to be computed. The whole blocks of a group's prompt are a cache slot that its
// requests share. Refers to requests and cache, which outlive it; not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/cached_attention.h"
#include "policy/kv_cache.h"
#include "rollout/decoding_settings.h"
#include "rollout/generation_request.h"

namespace bicrl {

// Tokens of a request: the shared part is the prompt's whole blocks, the own part all that follows up to the
// end of the last block.
struct RequestBudget {
  int64_t shared_tokens = 0;
  int64_t own_tokens = 0;
  int64_t pages() const { return KvCache::pages_for(shared_tokens) + KvCache::pages_for(own_tokens); }
};
RequestBudget budget_of(int64_t prompt_tokens, int64_t block_size, int64_t max_new_tokens);

// Pages of the cache for these requests: what max_active of the longest ones need, at most
// settings.cache_tokens. Throws InputError naming the request that does not fit, alone, into the cache or the
// policy's positions.
int64_t plan_cache_pages(const std::vector<GenerationRequest>& requests, const PolicyConfig& config,
                         const DecodingSettings& settings);

class Scheduler {
 public:
  Scheduler(const std::vector<GenerationRequest>& requests, int64_t block_size,
            const DecodingSettings& settings, KvCache& cache);

  struct Admission {
    size_t request = 0;
    KvCache::SlotId slot = 0;
  };
  // The next request, with its slot; none when all have been admitted, max_active are, or pages are lacking.
  std::optional<Admission> admit();
  // An admitted request is done.
  void finish(KvCache::SlotId slot);

  struct PrefillChunk {
    CachedSegment segment;
    const int64_t* tokens = nullptr;  // [segment.rows]
  };
  // Parts of admitted prompts that are not computed yet, at most `budget_tokens` of them (but one block at
  // least).
  std::vector<PrefillChunk> prefill(int64_t budget_tokens);

  bool all_admitted() const { return next_ == order_.size(); }
  int64_t active() const { return active_; }

 private:
  struct SharedPrompt {
    const GenerationRequest* request = nullptr;  // its first
    int64_t tokens = 0;                          // in whole blocks
    int64_t waiting = 0;                         // requests not admitted yet
    KvCache::SlotId slot = KvCache::kNoPrefix;   // while it is reserved
  };

  const std::vector<GenerationRequest>& requests_;
  int64_t block_size_;
  int64_t max_new_tokens_;
  int64_t max_active_;
  KvCache& cache_;
  std::vector<SharedPrompt> prompts_;
  std::vector<size_t> prompt_of_;   // of each request
  std::vector<size_t> order_;       // of admission: requests of a group are neighbours
  std::vector<size_t> incomplete_;  // prompts reserved but not computed
  size_t next_ = 0;
  int64_t active_ = 0;
};

}  // namespace bicrl

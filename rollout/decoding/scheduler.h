// Scheduler of generation requests: admits them in the order in which their groups came, with the pages of
// their whole budget. It also hands out the prompt tokens that are still to be computed. The whole blocks of
// a group's prompt are a cache slot that its requests share. Owns the waiting requests; refers to the cache,
// which outlives it; not thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "policy/attention/cached_attention.h"
#include "policy/attention/kv_cache.h"
#include "rollout/generation_request.h"

namespace bicrl {

// Tokens of a request: the shared part is the prompt's whole blocks, the own part all that follows up to the
// end of the last block.
struct RequestBudget {
  int64_t shared_tokens = 0;
  int64_t own_tokens = 0;
  int64_t tokens() const { return shared_tokens + own_tokens; }
  int64_t pages() const { return KvCache::pages_for(shared_tokens) + KvCache::pages_for(own_tokens); }
};
RequestBudget budget_of(int64_t prompt_tokens, int64_t block_size, int64_t max_new_tokens);

// How much may be in work at a time.
struct SchedulerLimits {
  int64_t max_new_tokens = 0;  // of requests that name none
  int64_t max_active = 0;
  int64_t pages = 0;           // of the cache; no request needs more by itself
  int64_t prefill_tokens = 0;  // of one forward, but one block at least
};

class Scheduler {
 public:
  Scheduler(int64_t block_size, const SchedulerLimits& limits, KvCache& cache)
      : block_size_(block_size), limits_(limits), cache_(cache) {}

  // Puts a request behind those that wait, or beside those of its group if one of them still does. Throws
  // InputError if these have another prompt.
  void submit(int64_t number, GenerationRequest request);

  struct Admission {
    int64_t number = 0;
    GenerationRequest request;
    int64_t max_new_tokens = 0;
    KvCache::SlotId slot = 0;
  };
  // The next request, with its slot; none if none waits, max_active are admitted, or pages are lacking.
  std::optional<Admission> admit();
  // An admitted request is done.
  void finish(KvCache::SlotId slot);
  // Forgets the requests that wait.
  void drop_waiting();

  struct PrefillChunk {
    CachedSegment segment;
    const int64_t* tokens = nullptr;  // [segment.rows]
  };
  // Parts of admitted prompts that are not computed yet, as many as one forward takes. Their tokens stay
  // where they are until the next call.
  std::vector<PrefillChunk> prefill();

  bool waits() const { return !line_.empty(); }
  int64_t active() const { return active_; }

 private:
  struct Waiting {
    int64_t number = 0;
    GenerationRequest request;
  };
  struct SharedPrompt {
    int64_t group = -1;
    std::vector<int64_t> prompt;                // all of it
    int64_t tokens = 0;                         // shared: its whole blocks
    std::deque<Waiting> waiting;                // requests not admitted yet
    KvCache::SlotId slot = KvCache::kNoPrefix;  // while it is reserved
  };

  int64_t free_pages() const { return limits_.pages - (cache_.total_pages() - cache_.free_pages()); }
  void leave_line();

  int64_t block_size_;
  SchedulerLimits limits_;
  KvCache& cache_;
  // Requests of a group are side by side, so that at most one prompt is kept only for requests that wait:
  // whoever is next in line gets its pages once those before it are done.
  std::deque<std::shared_ptr<SharedPrompt>> line_;
  std::unordered_map<int64_t, std::shared_ptr<SharedPrompt>> group_in_line_;
  std::vector<std::shared_ptr<SharedPrompt>> incomplete_;  // reserved but not computed
  int64_t active_ = 0;
};

}  // namespace bicrl

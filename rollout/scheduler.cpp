#include "rollout/scheduler.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <unordered_map>

#include "common/error.h"

namespace bicrl {
namespace {

// Of the largest `count` values.
int64_t sum_of_largest(std::vector<int64_t> values, int64_t count) {
  std::sort(values.begin(), values.end(), std::greater<>());
  if (static_cast<int64_t>(values.size()) > count) values.resize(count);
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

std::string describe(const GenerationRequest& request, size_t index) {
  return concat("request ", index, " (task ", request.task_id, ", prompt of ", request.prompt_tokens.size(),
                " tokens)");
}

int64_t prompt_tokens(const GenerationRequest& request) {
  return static_cast<int64_t>(request.prompt_tokens.size());
}

}  // namespace

RequestBudget budget_of(int64_t prompt_tokens, int64_t block_size, int64_t max_new_tokens) {
  const int64_t total = (prompt_tokens + max_new_tokens + block_size - 1) / block_size * block_size;
  RequestBudget budget;
  budget.shared_tokens = prompt_tokens / block_size * block_size;
  budget.own_tokens = total - budget.shared_tokens;
  return budget;
}

int64_t plan_cache_pages(const std::vector<GenerationRequest>& requests, const PolicyConfig& config,
                         const DecodingSettings& settings) {
  const int64_t limit = settings.cache_tokens / KvCache::kPageTokens;
  std::vector<int64_t> shared, own;
  std::set<int64_t> groups;
  for (size_t i = 0; i < requests.size(); ++i) {
    const RequestBudget budget =
        budget_of(prompt_tokens(requests[i]), config.block_size, settings.max_new_tokens);
    const int64_t tokens = budget.shared_tokens + budget.own_tokens;
    if (tokens > config.max_position)
      throw InputError(concat(describe(requests[i], i), " needs ", tokens, " positions with ",
                              settings.max_new_tokens, " new tokens; the policy has ", config.max_position));
    if (settings.cache_tokens > 0 && budget.pages() > limit)
      throw InputError(concat(describe(requests[i], i), " needs ", budget.pages() * KvCache::kPageTokens,
                              " tokens of cache with ", settings.max_new_tokens,
                              " new tokens; cache_tokens is ", settings.cache_tokens));
    own.push_back(KvCache::pages_for(budget.own_tokens));
    if (requests[i].group < 0 || groups.insert(requests[i].group).second)
      shared.push_back(KvCache::pages_for(budget.shared_tokens));
  }
  const int64_t wanted =
      sum_of_largest(shared, settings.max_active) + sum_of_largest(own, settings.max_active);
  return settings.cache_tokens > 0 ? std::min(limit, wanted) : wanted;
}

Scheduler::Scheduler(const std::vector<GenerationRequest>& requests, int64_t block_size,
                     const DecodingSettings& settings, KvCache& cache)
    : requests_(requests),
      block_size_(block_size),
      max_new_tokens_(settings.max_new_tokens),
      max_active_(settings.max_active),
      cache_(cache) {
  std::unordered_map<int64_t, size_t> group_prompt;
  for (size_t i = 0; i < requests.size(); ++i) {
    const GenerationRequest& request = requests[i];
    size_t prompt = prompts_.size();
    if (request.group >= 0) prompt = group_prompt.try_emplace(request.group, prompt).first->second;
    if (prompt == prompts_.size()) {
      SharedPrompt& fresh = prompts_.emplace_back();
      fresh.request = &request;
      fresh.tokens = budget_of(prompt_tokens(request), block_size, max_new_tokens_).shared_tokens;
    }
    BICRL_CHECK(request.prompt_tokens == prompts_[prompt].request->prompt_tokens, "group ", request.group,
                " holds different prompts: tasks ", prompts_[prompt].request->task_id, " and ",
                request.task_id);
    ++prompts_[prompt].waiting;
    prompt_of_.push_back(prompt);
    order_.push_back(i);
  }
  // With the requests of a group side by side, at most one prompt is kept only for requests that wait:
  // whoever is next in line gets its pages once those before it are done.
  std::stable_sort(order_.begin(), order_.end(),
                   [&](size_t a, size_t b) { return prompt_of_[a] < prompt_of_[b]; });
}

std::optional<Scheduler::Admission> Scheduler::admit() {
  if (all_admitted() || active_ == max_active_) return std::nullopt;
  const size_t request = order_[next_];
  SharedPrompt& prompt = prompts_[prompt_of_[request]];
  const RequestBudget budget = budget_of(prompt_tokens(requests_[request]), block_size_, max_new_tokens_);
  const bool fresh = prompt.tokens > 0 && prompt.slot == KvCache::kNoPrefix;
  const int64_t needed =
      KvCache::pages_for(budget.own_tokens) + (fresh ? KvCache::pages_for(budget.shared_tokens) : 0);
  if (needed > cache_.free_pages()) {
    BICRL_CHECK(active_ > 0, "task ", requests_[request].task_id, " needs ", needed,
                " pages, the empty cache has ", cache_.free_pages());
    return std::nullopt;
  }
  if (fresh) {
    prompt.slot = cache_.reserve(prompt.tokens).value();
    incomplete_.push_back(prompt_of_[request]);
  }
  Admission admission{request, cache_.reserve(budget.own_tokens, prompt.slot).value()};
  // Its last request keeps the prompt alive from here on.
  if (--prompt.waiting == 0 && prompt.slot != KvCache::kNoPrefix) cache_.release(prompt.slot);
  ++next_;
  ++active_;
  return admission;
}

void Scheduler::finish(KvCache::SlotId slot) {
  cache_.release(slot);
  --active_;
}

std::vector<Scheduler::PrefillChunk> Scheduler::prefill(int64_t budget_tokens) {
  std::erase_if(incomplete_,
                [&](size_t p) { return cache_.stored_tokens(prompts_[p].slot) == prompts_[p].tokens; });
  int64_t left = std::max(budget_tokens / block_size_, int64_t{1}) * block_size_;
  std::vector<PrefillChunk> chunks;
  for (size_t p : incomplete_) {
    if (left == 0) break;
    const SharedPrompt& prompt = prompts_[p];
    PrefillChunk chunk;
    chunk.segment.slot = prompt.slot;
    chunk.segment.context_tokens = cache_.stored_tokens(prompt.slot);
    chunk.segment.rows = std::min(left, prompt.tokens - chunk.segment.context_tokens);
    chunk.segment.store_rows = chunk.segment.rows;
    chunk.tokens = prompt.request->prompt_tokens.data() + chunk.segment.context_tokens;
    left -= chunk.segment.rows;
    chunks.push_back(chunk);
  }
  return chunks;
}

}  // namespace bicrl

#include "rollout/decoding/scheduler.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {

RequestBudget budget_of(int64_t prompt_tokens, int64_t block_size, int64_t max_new_tokens) {
  const int64_t total = (prompt_tokens + max_new_tokens + block_size - 1) / block_size * block_size;
  RequestBudget budget;
  budget.shared_tokens = prompt_tokens / block_size * block_size;
  budget.own_tokens = total - budget.shared_tokens;
  return budget;
}

void Scheduler::submit(int64_t number, GenerationRequest request) {
  std::shared_ptr<SharedPrompt> prompt;
  if (const auto found = group_in_line_.find(request.group);
      request.group >= 0 && found != group_in_line_.end())
    prompt = found->second;
  if (prompt && prompt->prompt != request.prompt_tokens)
    throw InputError(concat("group ", request.group, " holds different prompts: tasks ",
                            prompt->waiting.front().request.task_id, " and ", request.task_id));
  if (!prompt) {
    prompt = std::make_shared<SharedPrompt>();
    prompt->group = request.group;
    prompt->prompt = request.prompt_tokens;
    prompt->tokens = static_cast<int64_t>(prompt->prompt.size()) / block_size_ * block_size_;
    line_.push_back(prompt);
    if (request.group >= 0) group_in_line_[request.group] = prompt;
  }
  prompt->waiting.push_back({number, std::move(request)});
}

std::optional<Scheduler::Admission> Scheduler::admit() {
  if (line_.empty() || active_ == limits_.max_active) return std::nullopt;
  SharedPrompt& prompt = *line_.front();
  Waiting& next = prompt.waiting.front();
  const RequestBudget budget = budget_of(static_cast<int64_t>(next.request.prompt_tokens.size()), block_size_,
                                         next.request.new_tokens(limits_.max_new_tokens));
  const bool fresh = prompt.tokens > 0 && prompt.slot == KvCache::kNoPrefix;
  const int64_t needed =
      KvCache::pages_for(budget.own_tokens) + (fresh ? KvCache::pages_for(budget.shared_tokens) : 0);
  if (needed > free_pages()) {
    BICRL_CHECK(active_ > 0, "task ", next.request.task_id, " needs ", needed, " pages, the empty cache has ",
                free_pages());
    return std::nullopt;
  }
  if (fresh) {
    prompt.slot = cache_.reserve(prompt.tokens).value();
    incomplete_.push_back(line_.front());
  }
  Admission admission;
  admission.number = next.number;
  admission.max_new_tokens = next.request.new_tokens(limits_.max_new_tokens);
  admission.slot = cache_.reserve(budget.own_tokens, prompt.slot).value();
  admission.request = std::move(next.request);
  prompt.waiting.pop_front();
  if (prompt.waiting.empty()) leave_line();
  ++active_;
  return admission;
}

// The first prompt of the line: its last admitted request keeps it alive from here on.
void Scheduler::leave_line() {
  const std::shared_ptr<SharedPrompt> prompt = line_.front();
  if (prompt->slot != KvCache::kNoPrefix) cache_.release(prompt->slot);
  if (prompt->group >= 0) group_in_line_.erase(prompt->group);
  line_.pop_front();
}

void Scheduler::finish(KvCache::SlotId slot) {
  cache_.release(slot);
  --active_;
}

void Scheduler::drop_waiting() {
  while (!line_.empty()) leave_line();
  incomplete_.clear();
}

std::vector<Scheduler::PrefillChunk> Scheduler::prefill() {
  std::erase_if(incomplete_,
                [&](const auto& prompt) { return cache_.stored_tokens(prompt->slot) == prompt->tokens; });
  int64_t left = std::max(limits_.prefill_tokens / block_size_, int64_t{1}) * block_size_;
  std::vector<PrefillChunk> chunks;
  for (const auto& prompt : incomplete_) {
    if (left == 0) break;
    PrefillChunk chunk;
    chunk.segment.slot = prompt->slot;
    chunk.segment.context_tokens = cache_.stored_tokens(prompt->slot);
    chunk.segment.rows = std::min(left, prompt->tokens - chunk.segment.context_tokens);
    chunk.segment.store_rows = chunk.segment.rows;
    chunk.tokens = prompt->prompt.data() + chunk.segment.context_tokens;
    left -= chunk.segment.rows;
    chunks.push_back(chunk);
  }
  return chunks;
}

}  // namespace bicrl

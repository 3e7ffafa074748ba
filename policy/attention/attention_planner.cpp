#include "policy/attention/attention_planner.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {

AttentionPlanner::AttentionPlanner(int64_t block_size, int64_t max_rows, const KvCache& cache,
                                   StepBuffer& buffer)
    : block_size_(block_size),
      cache_(cache),
      positions_(buffer, max_rows),
      key_limits_(buffer, max_rows),
      write_rows_(buffer, max_rows),
      first_rows_(buffer, max_rows / block_size + 1),
      first_pages_(buffer, max_rows / block_size + 1),
      pages_(buffer, cache.total_pages()),
      segment_prompt_(buffer, max_rows / block_size),
      first_prompt_pages_(buffer, max_rows / block_size + 1),
      prompt_pages_(buffer, cache.total_pages()),
      prompt_tokens_(buffer, max_rows / block_size) {}

void AttentionPlanner::check(const CachedSegment& s) const {
  const int64_t b = block_size_;
  BICRL_CHECK(s.rows > 0 && s.rows % b == 0 && s.context_tokens % b == 0 && s.store_rows % b == 0 &&
                  s.store_rows <= s.rows,
              "segments are whole blocks of ", b, ": context ", s.context_tokens, ", rows ", s.rows,
              ", store ", s.store_rows);
  BICRL_CHECK(s.context_tokens == cache_.stored_tokens(s.slot), "slot ", s.slot, " holds ",
              cache_.stored_tokens(s.slot), " tokens, not ", s.context_tokens);
  BICRL_CHECK(s.context_tokens + s.rows <= cache_.reserved_tokens(s.slot), "slot ", s.slot, " reserved ",
              cache_.reserved_tokens(s.slot), " tokens; the segment ends at ", s.context_tokens + s.rows);
}

int32_t AttentionPlanner::prompt_of(KvCache::SlotId slot) {
  const KvCache::SlotId prefix = cache_.prefix(slot);
  if (prefix == KvCache::kNoPrefix) return -1;
  const auto [entry, fresh] = prompts_.try_emplace(prefix, static_cast<int32_t>(prompts_.size()));
  if (fresh) {
    for (const int64_t page : cache_.own_pages(prefix)) prompt_pages_.push_back(static_cast<int32_t>(page));
    first_prompt_pages_.push_back(static_cast<int32_t>(prompt_pages_.size()));
    prompt_tokens_.push_back(static_cast<int32_t>(cache_.prefix_tokens(slot)));
  }
  return entry->second;
}

const AttentionPlan& AttentionPlanner::plan(const std::vector<CachedSegment>& segments) {
  BICRL_CHECK(!segments.empty());
  for (auto* array : {&positions_, &key_limits_, &write_rows_}) array->clear();
  for (auto* array : {&first_rows_, &first_pages_, &pages_, &segment_prompt_, &first_prompt_pages_,
                      &prompt_pages_, &prompt_tokens_})
    array->clear();
  prompts_.clear();
  for (auto* firsts : {&first_rows_, &first_pages_, &first_prompt_pages_}) firsts->push_back(0);
  for (const CachedSegment& s : segments) {
    check(s);
    const int64_t end = s.context_tokens + s.rows;
    for (int64_t position = s.context_tokens; position < end; ++position) {
      positions_.push_back(position);
      key_limits_.push_back((position / block_size_ + 1) * block_size_);
      write_rows_.push_back(cache_.own_row(s.slot, position));
    }
    segment_prompt_.push_back(prompt_of(s.slot));
    const auto& own = cache_.own_pages(s.slot);
    const int64_t pages = KvCache::pages_for(end - cache_.prefix_tokens(s.slot));
    for (int64_t i = 0; i < pages; ++i) pages_.push_back(static_cast<int32_t>(own[static_cast<size_t>(i)]));
    first_rows_.push_back(static_cast<int32_t>(positions_.size()));
    first_pages_.push_back(static_cast<int32_t>(pages_.size()));
  }
  plan_ = {.page_tokens = KvCache::kPageTokens,
           .positions = positions_.values(),
           .key_limits = key_limits_.values(),
           .write_rows = write_rows_.values(),
           .first_rows = first_rows_.values(),
           .first_pages = first_pages_.values(),
           .pages = pages_.values(),
           .segment_prompt = segment_prompt_.values(),
           .first_prompt_pages = first_prompt_pages_.values(),
           .prompt_pages = prompt_pages_.values(),
           .prompt_tokens = prompt_tokens_.values()};
  return plan_;
}

}  // namespace bicrl

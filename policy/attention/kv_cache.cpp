#include "policy/attention/kv_cache.h"

#include <ATen/ATen.h>

#include <cstring>

#include "common/error.h"

namespace bicrl {

KvCache::KvCache(const PolicyConfig& config, int64_t pages, at::Device device, at::ScalarType dtype)
    : total_pages_(pages), touched_(static_cast<size_t>(pages), 0) {
  BICRL_CHECK(pages > 0, "pages=", pages);
  pool_ = at::zeros({config.layers, pages * kPageTokens, 2, config.kv_heads, config.head_dim},
                    at::TensorOptions().device(device).dtype(dtype));
  // Taken from the back: low pages first.
  for (int64_t page = pages; page-- > 0;) free_.push_back(page);
}

int64_t KvCache::bytes_per_page(const PolicyConfig& config, at::ScalarType dtype) {
  return config.layers * kPageTokens * 2 * config.kv_heads * config.head_dim *
         static_cast<int64_t>(c10::elementSize(dtype));
}

const KvCache::Slot& KvCache::at(SlotId slot) const {
  BICRL_CHECK(slot >= 0 && slot < static_cast<int64_t>(slots_.size()) && slots_[slot].references > 0,
              "no live slot ", slot);
  return slots_[slot];
}

std::optional<KvCache::SlotId> KvCache::reserve(int64_t tokens, SlotId prefix) {
  BICRL_CHECK(tokens > 0, "tokens=", tokens);
  BICRL_CHECK(prefix == kNoPrefix || at(prefix).prefix == kNoPrefix, "slot ", prefix,
              " extends a prefix itself");
  const int64_t needed = pages_for(tokens);
  if (needed > free_pages()) return std::nullopt;
  SlotId id;
  if (unused_slots_.empty()) {
    id = static_cast<SlotId>(slots_.size());
    slots_.emplace_back();
  } else {
    id = unused_slots_.back();
    unused_slots_.pop_back();
  }
  Slot& slot = slots_[id];
  slot = Slot{};
  slot.reserved = tokens;
  slot.prefix = prefix;
  slot.references = 1;
  slot.pages.assign(free_.rbegin(), free_.rbegin() + needed);
  free_.resize(free_.size() - needed);
  clear(slot.pages);
  if (prefix != kNoPrefix) ++slots_[prefix].references;
  ++live_slots_;
  return id;
}

// A policy that was broken leaves NaN behind, which no mask takes out of a sum.
void KvCache::clear(const std::vector<int64_t>& pages) {
  std::vector<int64_t> used;
  for (const int64_t page : pages) {
    if (touched_[page]) used.push_back(page);
    touched_[page] = 1;
  }
  if (used.empty()) return;
  const int64_t layers = pool_.size(0);
  if (!pool_.is_cpu()) {
    const at::Tensor index = at::tensor(used, at::kLong).to(pool_.device());
    pool_.view({layers, total_pages_, -1}).index_fill_(1, index, 0);
    return;
  }
  const size_t page_bytes = pool_.nbytes() / static_cast<size_t>(layers * total_pages_);
  char* const bytes = static_cast<char*>(pool_.mutable_data_ptr());
  for (int64_t layer = 0; layer < layers; ++layer)
    for (const int64_t page : used)
      std::memset(bytes + static_cast<size_t>(layer * total_pages_ + page) * page_bytes, 0, page_bytes);
}

void KvCache::release(SlotId id) {
  at(id);
  Slot& slot = slots_[id];
  if (--slot.references > 0) return;
  free_.insert(free_.end(), slot.pages.rbegin(), slot.pages.rend());
  const SlotId prefix = slot.prefix;
  slot = Slot{};
  unused_slots_.push_back(id);
  --live_slots_;
  if (prefix != kNoPrefix) release(prefix);
}

int64_t KvCache::prefix_tokens(SlotId slot) const {
  const SlotId prefix = at(slot).prefix;
  return prefix == kNoPrefix ? 0 : at(prefix).reserved;
}

int64_t KvCache::stored_tokens(SlotId slot) const {
  const Slot& own = at(slot);
  if (own.prefix == kNoPrefix) return own.stored;
  const Slot& prefix = at(own.prefix);
  return prefix.stored < prefix.reserved ? prefix.stored : prefix.reserved + own.stored;
}

void KvCache::mark_stored(SlotId slot, int64_t count) {
  BICRL_CHECK(at(slot).stored + count <= at(slot).reserved, "slot ", slot, " reserved ", at(slot).reserved,
              " tokens, holds ", at(slot).stored, ", and ", count, " more are stored");
  slots_[slot].stored += count;
}

int64_t KvCache::reserved_tokens(SlotId slot) const { return prefix_tokens(slot) + at(slot).reserved; }

int64_t KvCache::own_row(SlotId slot, int64_t position) const {
  const int64_t own = position - prefix_tokens(slot);
  BICRL_CHECK(own >= 0 && own < at(slot).reserved, "position ", position, " is not in slot ", slot,
              "'s own part");
  return at(slot).pages[own / kPageTokens] * kPageTokens + own % kPageTokens;
}

}  // namespace bicrl

// Keys and values of committed tokens, in pages on the policy's device. A slot reserves the pages of its
// whole budget when it is made, so whoever was admitted can always finish. A slot may extend a shared prefix
// slot, which stays until its last user is gone. What a page held before is gone when a slot gets it: rows
// that are not written yet are zero. Owns the pool; not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/policy_config.h"

namespace bicrl {

class KvCache {
 public:
  using SlotId = int64_t;
  static constexpr int64_t kPageTokens = 16;
  static constexpr SlotId kNoPrefix = -1;

  // `pages` pages of kPageTokens tokens for all layers.
  KvCache(const PolicyConfig& config, int64_t pages, at::Device device, at::ScalarType dtype);

  static int64_t pages_for(int64_t tokens) { return (tokens + kPageTokens - 1) / kPageTokens; }
  static int64_t bytes_per_page(const PolicyConfig& config, at::ScalarType dtype);

  // Reserves `tokens` of its own behind the tokens of `prefix`, on which it takes a reference. None when the
  // free pages do not suffice; then nothing has changed.
  std::optional<SlotId> reserve(int64_t tokens, SlotId prefix = kNoPrefix);
  // Gives up the caller's reference; the pages return with the last one.
  void release(SlotId slot);

  // Tokens of the prefix and of the slot itself whose keys and values are valid, from position 0.
  int64_t stored_tokens(SlotId slot) const;
  // Marks the next `count` tokens of the slot as valid.
  void mark_stored(SlotId slot, int64_t count);
  int64_t prefix_tokens(SlotId slot) const;    // tokens that belong to its prefix
  int64_t reserved_tokens(SlotId slot) const;  // prefix included
  const std::vector<int64_t>& own_pages(SlotId slot) const { return at(slot).pages; }
  SlotId prefix(SlotId slot) const { return at(slot).prefix; }  // kNoPrefix: none
  // Row in pool(layer) of the token at an absolute position of the slot's own part.
  int64_t own_row(SlotId slot, int64_t position) const;

  // [pages * kPageTokens, 2 (key, value), kv_heads, head_dim]. Rows of a slot that are not written yet are
  // zero: a backend may read and mask them, as they are finite.
  at::Tensor pool(int64_t layer) const { return pool_[layer]; }
  at::Device device() const { return pool_.device(); }

  int64_t total_pages() const { return total_pages_; }
  int64_t free_pages() const { return static_cast<int64_t>(free_.size()); }
  int64_t live_slots() const { return live_slots_; }

 private:
  struct Slot {
    std::vector<int64_t> pages;
    int64_t reserved = 0;  // own tokens
    int64_t stored = 0;    // own tokens
    SlotId prefix = kNoPrefix;
    int64_t references = 0;
  };
  const Slot& at(SlotId slot) const;
  void clear(const std::vector<int64_t>& pages);

  int64_t total_pages_;
  at::Tensor pool_;  // [layers, pages * kPageTokens, 2, kv_heads, head_dim]
  std::vector<int64_t> free_;
  std::vector<char> touched_;  // [pages], handed out before
  std::vector<Slot> slots_;
  std::vector<SlotId> unused_slots_;
  int64_t live_slots_ = 0;
};

}  // namespace bicrl

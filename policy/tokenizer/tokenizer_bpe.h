// Byte-pair encoding of one pre-token: bytes to ids by ranked merges.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/tokenizer/tokenizer_files.h"

namespace bicrl {

// Immutable after construction; thread-safe.
class BytePairModel {
 public:
  // Throws InputError if a byte has no token, a merge names an unknown token, or two tokens share an id.
  explicit BytePairModel(const TokenizerSpec& spec);

  // Appends the ids of one pre-token. Always applies the best-ranked merge, the leftmost of equals; takes
  // O(n log n) for long pre-tokens.
  void encode(std::string_view piece, std::vector<int64_t>& ids) const;

  // Raw bytes of each id; empty for an unassigned one.
  const std::vector<std::string>& bytes() const { return bytes_; }

 private:
  struct Merge {
    int32_t rank;
    int32_t result;
  };
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t pair = kFree;
    Merge merge{};
  };
  using SpellingIds = std::unordered_map<std::string_view, int32_t>;
  void index_bytes(const TokenizerSpec& spec);
  void index_byte_ids(const TokenizerSpec& spec, const SpellingIds& id_of);
  void index_merges(const TokenizerSpec& spec, const SpellingIds& id_of);
  const Merge* find_merge(int32_t left, int32_t right) const;
  void merge_short(std::vector<int32_t>& symbols) const;
  void merge_long(std::vector<int32_t>& symbols) const;

  std::vector<std::string> bytes_;
  int32_t byte_ids_[256];
  std::vector<Slot> merges_;  // open addressing, a power of two in size
  bool ignore_merges_;
  std::unordered_map<std::string_view, int32_t> whole_;  // keys point into bytes_; only for ignore_merges_
};

// Raw bytes of a token spelled in the byte alphabet; the text itself if it has other characters.
std::string bytes_of_spelling(std::string_view spelling);

}  // namespace bicrl

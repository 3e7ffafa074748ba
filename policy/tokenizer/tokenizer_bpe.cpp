#include "policy/tokenizer/tokenizer_bpe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <queue>
#include <tuple>

#include "common/error.h"
#include "policy/tokenizer/tokenizer_unicode.h"

namespace bicrl {
namespace {

// Above this many symbols the heap is faster than scanning for the best pair.
constexpr size_t kScanLimit = 48;

// The byte alphabet: printable bytes stand for themselves, the others for U+0100 onwards in order.
std::array<char32_t, 256> byte_alphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
    alphabet[byte] = printable ? byte : next++;
  }
  return alphabet;
}

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

size_t slot_hash(uint64_t pair) { return static_cast<size_t>((pair * 0x9E3779B97F4A7C15ull) >> 24); }

}  // namespace

std::string bytes_of_spelling(std::string_view spelling) {
  static const std::array<int16_t, 0x144> byte_of = [] {
    std::array<int16_t, 0x144> table;
    table.fill(-1);
    const auto alphabet = byte_alphabet();
    for (int byte = 0; byte < 256; ++byte) table[alphabet[byte]] = static_cast<int16_t>(byte);
    return table;
  }();
  std::string bytes;
  for (size_t at = 0; at < spelling.size();) {
    const char32_t character = unicode::next_character(spelling, at);
    if (character >= byte_of.size() || byte_of[character] < 0) return std::string(spelling);
    bytes += static_cast<char>(byte_of[character]);
  }
  return bytes;
}

BytePairModel::BytePairModel(const TokenizerSpec& spec) : ignore_merges_(spec.ignore_merges) {
  SpellingIds id_of;
  id_of.reserve(spec.vocabulary.size());
  for (const auto& [text, id] : spec.vocabulary) id_of.emplace(text, static_cast<int32_t>(id));
  index_bytes(spec);
  index_byte_ids(spec, id_of);
  index_merges(spec, id_of);
}

void BytePairModel::index_bytes(const TokenizerSpec& spec) {
  int64_t highest = -1;
  for (const auto& [text, id] : spec.vocabulary) highest = std::max(highest, id);
  bytes_.resize(static_cast<size_t>(highest + 1));
  for (const auto& [text, id] : spec.vocabulary) {
    if (text.empty()) throw InputError(concat(spec.name, ": vocab: id ", id, " has an empty token"));
    std::string& bytes = bytes_[static_cast<size_t>(id)];
    if (!bytes.empty())
      throw InputError(concat(spec.name, ": vocab: id ", id, " is given twice, also to ", text));
    bytes = bytes_of_spelling(text);
  }
  if (ignore_merges_)
    for (size_t id = 0; id < bytes_.size(); ++id)
      if (!bytes_[id].empty()) whole_.emplace(bytes_[id], static_cast<int32_t>(id));
}

void BytePairModel::index_byte_ids(const TokenizerSpec& spec, const SpellingIds& id_of) {
  const auto alphabet = byte_alphabet();
  for (size_t byte = 0; byte < alphabet.size(); ++byte) {
    std::string spelling;
    unicode::append_utf8(spelling, alphabet[byte]);
    const auto found = id_of.find(spelling);
    if (found == id_of.end())
      throw InputError(
          concat(spec.name, ": vocab: no token for byte ", byte,
                 "; a byte-level vocabulary needs all 256 (train with the byte alphabet as initial "
                 "alphabet)"));
    byte_ids_[byte] = found->second;
  }
}

void BytePairModel::index_merges(const TokenizerSpec& spec, const SpellingIds& id_of) {
  const auto id_in_merge = [&](const std::string& text, size_t rank) {
    const auto found = id_of.find(text);
    if (found == id_of.end())
      throw InputError(concat(spec.name, ": merge ", rank, ": ", text, " is not in the vocabulary"));
    return found->second;
  };
  merges_.resize(std::bit_ceil(spec.merges.size() * 2 + 2));
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto& [left, right] = spec.merges[rank];
    const uint64_t key = pair_key(id_in_merge(left, rank), id_in_merge(right, rank));
    size_t at = slot_hash(key) & (merges_.size() - 1);
    while (merges_[at].pair != kFree && merges_[at].pair != key) at = (at + 1) & (merges_.size() - 1);
    merges_[at] = {key, {static_cast<int32_t>(rank), id_in_merge(left + right, rank)}};
  }
}

const BytePairModel::Merge* BytePairModel::find_merge(int32_t left, int32_t right) const {
  const uint64_t key = pair_key(left, right);
  for (size_t at = slot_hash(key) & (merges_.size() - 1);; at = (at + 1) & (merges_.size() - 1)) {
    if (merges_[at].pair == key) return &merges_[at].merge;
    if (merges_[at].pair == kFree) return nullptr;
  }
}

void BytePairModel::encode(std::string_view piece, std::vector<int64_t>& ids) const {
  if (ignore_merges_) {
    if (const auto found = whole_.find(piece); found != whole_.end()) {
      ids.push_back(found->second);
      return;
    }
  }
  std::vector<int32_t> symbols;
  symbols.reserve(piece.size());
  for (const char byte : piece) symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
  if (symbols.size() <= kScanLimit)
    merge_short(symbols);
  else
    merge_long(symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

// Keeps the merge of every neighbouring pair and rescans for the best.
void BytePairModel::merge_short(std::vector<int32_t>& symbols) const {
  constexpr Merge kNone{std::numeric_limits<int32_t>::max(), -1};
  size_t count = symbols.size();
  if (count < 2) return;
  Merge pairs[kScanLimit];
  const auto look_up = [&](size_t i) {
    const Merge* found = find_merge(symbols[i], symbols[i + 1]);
    pairs[i] = found ? *found : kNone;
  };
  for (size_t i = 0; i + 1 < count; ++i) look_up(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i)
      if (pairs[i].rank < pairs[best].rank) best = i;
    if (pairs[best].result < 0) break;
    symbols[best] = pairs[best].result;
    std::copy(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 2,
              symbols.begin() + static_cast<std::ptrdiff_t>(count),
              symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    std::copy(pairs + best + 1, pairs + count - 1, pairs + best);
    --count;
    if (best + 1 < count) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  symbols.resize(count);
}

// Linked list of symbols and a heap of candidate merges; entries that no longer hold are skipped.
void BytePairModel::merge_long(std::vector<int32_t>& symbols) const {
  struct Candidate {
    int32_t rank;
    int32_t left;  // index of the left symbol
    int32_t left_id, right_id;
    int32_t result;
    bool operator>(const Candidate& other) const {
      return std::tie(rank, left) > std::tie(other.rank, other.left);
    }
  };
  BICRL_CHECK(symbols.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()),
              "pre-token too long");
  const auto count = static_cast<int32_t>(symbols.size());
  constexpr int32_t kGone = -1;
  std::vector<int32_t> next(symbols.size()), previous(symbols.size());
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap;
  const auto push = [&](int32_t left) {
    if (left < 0 || next[left] >= count) return;
    const int32_t right = next[left];
    if (const Merge* found = find_merge(symbols[left], symbols[right]))
      heap.push({found->rank, left, symbols[left], symbols[right], found->result});
  };
  for (int32_t i = 0; i < count; ++i) next[i] = i + 1, previous[i] = i - 1;
  for (int32_t i = 0; i < count; ++i) push(i);
  while (!heap.empty()) {
    const Candidate top = heap.top();
    heap.pop();
    const int32_t right = next[top.left];
    if (symbols[top.left] != top.left_id || right >= count || symbols[right] != top.right_id) continue;
    symbols[top.left] = top.result;
    symbols[right] = kGone;
    next[top.left] = next[right];
    if (next[right] < count) previous[next[right]] = top.left;
    push(previous[top.left]);
    push(top.left);
  }
  std::erase(symbols, kGone);
}

}  // namespace bicrl

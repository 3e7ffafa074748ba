#include "policy/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "policy/tokenizer/tokenizer_bpe.h"
#include "policy/tokenizer/tokenizer_files.h"
#include "policy/tokenizer/tokenizer_split.h"
#include "policy/tokenizer/tokenizer_unicode.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

// Finds added tokens: leftmost, the longest if several begin at the same byte.
class AddedTokenFinder {
 public:
  struct Hit {
    size_t begin, end;  // including the white space that the token swallows
    int64_t id;
  };

  void add(const AddedToken& token) { tokens_.push_back(token); }

  // Call when all tokens are there, before the first next().
  void finish() {
    std::stable_sort(tokens_.begin(), tokens_.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.text < b.text; });
    for (const AddedToken& token : tokens_) begins_[static_cast<unsigned char>(token.text.front())] = true;
  }

  // The next hit at or behind `from`; begin == npos if there is none.
  Hit next(std::string_view text, size_t from) const {
    for (size_t at = from; at < text.size(); ++at)
      if (begins_[static_cast<unsigned char>(text[at])])
        if (const AddedToken* token = longest_beginning(text.substr(at)))
          return widen(text, from, at, *token);
    return {std::string_view::npos, 0, -1};
  }

 private:
  static Hit widen(std::string_view text, size_t from, size_t at, const AddedToken& token) {
    Hit hit{at, at + token.text.size(), token.id};
    if (token.lstrip) hit.begin -= unicode::trailing_space_bytes(text.substr(from, at - from));
    if (token.rstrip) hit.end += unicode::leading_space_bytes(text.substr(hit.end));
    return hit;
  }

  // The longest token that `text` begins with. It is the last one in order that is not beyond the text, or
  // else it lies within what that one and the text have in common.
  const AddedToken* longest_beginning(std::string_view text) const {
    while (true) {
      const auto after =
          std::upper_bound(tokens_.begin(), tokens_.end(), text,
                           [](std::string_view t, const AddedToken& token) { return t < token.text; });
      if (after == tokens_.begin()) return nullptr;
      const AddedToken& nearest = *std::prev(after);
      const size_t common = static_cast<size_t>(
          std::mismatch(text.begin(), text.end(), nearest.text.begin(), nearest.text.end()).first -
          text.begin());
      if (common == nearest.text.size()) return &nearest;
      if (common == 0) return nullptr;
      text = text.substr(0, common);
    }
  }

  std::vector<AddedToken> tokens_;  // in order of their bytes
  std::array<bool, 256> begins_{};
};

}  // namespace

struct Tokenizer::State {
  explicit State(TokenizerSpec spec);
  void encode_raw(std::string_view text, std::vector<int64_t>& ids) const;
  void encode_normalized(std::string_view text, std::vector<int64_t>& ids) const;

  BytePairModel model;
  PreSplitter splitter;
  bool normalize_nfc;
  AddedTokenFinder raw_added, normalized_added;
  std::vector<std::string> bytes;  // by id
  std::vector<bool> special;       // by id
  std::unordered_map<std::string, int64_t> ids;
  TokenizerFiles files;
};

Tokenizer::State::State(TokenizerSpec spec)
    : model(spec),
      splitter(spec.split_patterns, spec.name),
      normalize_nfc(spec.normalize_nfc),
      bytes(model.bytes()) {
  ids.reserve(spec.vocabulary.size() + spec.added.size());
  for (const auto& [text, id] : spec.vocabulary) ids.emplace(text, id);
  for (AddedToken& token : spec.added) {
    const auto [entry, fresh] = ids.emplace(token.text, token.id);
    if (entry->second != token.id)
      throw InputError(
          concat(spec.name, ": added token ", token.text, " has ids ", token.id, " and ", entry->second));
    const auto id = static_cast<size_t>(token.id);
    if (id >= bytes.size()) bytes.resize(id + 1);
    if (fresh && !bytes[id].empty())
      throw InputError(concat(spec.name, ": added token ", token.text, ": id ", token.id, " is taken"));
    if (token.normalized && normalize_nfc) token.text = unicode::to_nfc(token.text);
    bytes[id] = token.text;  // as it is, even if its letters are in the byte alphabet
    if (special.size() <= id) special.resize(id + 1, false);
    special[id] = token.special;
    (token.normalized ? normalized_added : raw_added).add(token);
  }
  special.resize(bytes.size(), false);
  raw_added.finish();
  normalized_added.finish();
  for (const auto& [text, id] : spec.aliases)
    if (ids.emplace(text, id).first->second != id)
      throw InputError(concat(spec.name, ": added token ", text, " has ids ", id, " and ", ids.at(text)));
  files = std::move(spec.files);
}

// Calls `between` for the text around hits and appends the hits' ids.
template <class Between>
void split_out(const AddedTokenFinder& finder, std::string_view text, std::vector<int64_t>& ids,
               const Between& between) {
  size_t at = 0;
  while (at < text.size()) {
    const auto hit = finder.next(text, at);
    if (hit.begin == std::string_view::npos) break;
    if (hit.begin > at) between(text.substr(at, hit.begin - at));
    ids.push_back(hit.id);
    at = hit.end;
  }
  if (at < text.size()) between(text.substr(at));
}

void Tokenizer::State::encode_normalized(std::string_view text, std::vector<int64_t>& out) const {
  split_out(normalized_added, text, out, [&](std::string_view part) {
    splitter.split(part, [&](std::string_view piece) { model.encode(piece, out); });
  });
}

void Tokenizer::State::encode_raw(std::string_view text, std::vector<int64_t>& out) const {
  split_out(raw_added, text, out, [&](std::string_view part) {
    if (normalize_nfc)
      encode_normalized(unicode::to_nfc(part), out);
    else
      encode_normalized(part, out);
  });
}

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::from_folder(const fs::path& folder) {
  return from_files(load_tokenizer_files(folder), folder);
}

Tokenizer Tokenizer::from_files(TokenizerFiles files, const fs::path& folder) {
  return Tokenizer(std::make_unique<State>(parse_tokenizer_files(std::move(files), folder)));
}

std::vector<int64_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int64_t> ids;
  ids.reserve(text.size() / 3 + 8);
  if (unicode::is_valid_utf8(text))
    state_->encode_raw(text, ids);
  else
    state_->encode_raw(unicode::replace_invalid_utf8(text), ids);
  return ids;
}

std::string Tokenizer::decode(const std::vector<int64_t>& ids, bool skip_special) const {
  std::string joined;
  for (const int64_t id : ids) {
    const std::string_view piece = bytes(id);
    if (!skip_special || !state_->special[static_cast<size_t>(id)]) joined += piece;
  }
  return unicode::is_valid_utf8(joined) ? joined : unicode::replace_invalid_utf8(joined);
}

std::string_view Tokenizer::bytes(int64_t id) const {
  BICRL_CHECK(id >= 0 && id < size(), "token id ", id, " of ", size());
  return state_->bytes[static_cast<size_t>(id)];
}

int64_t Tokenizer::size() const { return static_cast<int64_t>(state_->bytes.size()); }

bool Tokenizer::has(int64_t id) const {
  return id >= 0 && id < size() && !state_->bytes[static_cast<size_t>(id)].empty();
}

std::string Tokenizer::named_token(const std::string& role) const {
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const auto file = state_->files.find(name);
    if (file == state_->files.end()) continue;
    const auto document = nlohmann::json::parse(file->second, nullptr, false);
    const auto found = document.is_object() ? document.find(role) : document.end();
    if (found == document.end()) continue;
    const auto text = found->is_object() ? found->find("content") : found;
    if (found->is_object() ? text != found->end() && text->is_string() : found->is_string())
      return text->get<std::string>();
  }
  return "";
}

int64_t Tokenizer::id_of(std::string_view token) const {
  const auto found = state_->ids.find(std::string(token));
  return found == state_->ids.end() ? -1 : found->second;
}

std::string Tokenizer::hash() const {
  std::string hashes;
  for (const auto& [name, content] : state_->files) hashes += hash_hex({name, content});
  return hash_hex(hashes);
}

void Tokenizer::save(const fs::path& folder, FileOperations& files) const {
  for (const auto& [name, content] : state_->files) write_file_atomically(folder / name, content, files);
}

}  // namespace bicrl

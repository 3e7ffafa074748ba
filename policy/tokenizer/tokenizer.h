// Byte-level BPE tokenizer that reads Hugging Face files, token-for-token equal to them.
// Immutable after loading; encode and decode are thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/files/file_operations.h"

namespace bicrl {

class Tokenizer {
 public:
  // A folder with tokenizer.json, or with vocab.json + merges.txt + added_tokens.json (Qwen2 form).
  // Throws InputError with file and field.
  static Tokenizer from_folder(const std::filesystem::path& folder);
  // The same from the files' contents by name; `folder` is named in messages only.
  static Tokenizer from_files(std::map<std::string, std::string> files, const std::filesystem::path& folder);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // NFC, added tokens split out atomically, pre-split, byte-level BPE. Nothing is added at either end.
  std::vector<int64_t> encode(std::string_view text) const;
  // Invalid UTF-8 becomes U+FFFD. Added tokens appear as their text unless skip_special.
  std::string decode(const std::vector<int64_t>& ids, bool skip_special = false) const;
  // Raw bytes of one id (may be an incomplete UTF-8 sequence): for streaming and for finding delimiters.
  std::string_view bytes(int64_t id) const;

  int64_t size() const;                         // highest assigned id + 1
  bool has(int64_t id) const;                   // whether the id is a token's
  int64_t id_of(std::string_view token) const;  // added or vocabulary token by its text; -1 if none
  // The text of the token that tokenizer_config.json (or special_tokens_map.json) names as "mask_token",
  // "eos_token" and so on; empty: none is named.
  std::string named_token(const std::string& role) const;
  std::string hash() const;  // of the files this tokenizer was loaded from
  // Copies the files this tokenizer was loaded from, so that a checkpoint opens in transformers.
  void save(const std::filesystem::path& folder, FileOperations& files = system_files()) const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bicrl

// Reads a tokenizer's files, in either of the two Hugging Face forms, into one specification.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bicrl {

struct AddedToken {
  int64_t id = -1;
  std::string text;
  bool special = false;
  bool normalized = false;  // searched in the normalised text rather than the raw one
  bool lstrip = false, rstrip = false;
};

// Plain data, owned by whoever reads it.
struct TokenizerSpec {
  std::string name;                                         // the file that messages name
  std::vector<std::pair<std::string, int64_t>> vocabulary;  // in the byte alphabet's spelling
  std::vector<std::pair<std::string, std::string>> merges;  // in order of rank
  std::vector<AddedToken> added;
  // Further spellings of an added id, found by name only (published files spell MASK in two ways).
  std::unordered_map<std::string, int64_t> aliases;
  bool normalize_nfc = false;
  bool ignore_merges = false;                // a whole pre-token that is in the vocabulary is taken as it is
  std::vector<std::string> split_patterns;   // each isolates its matches within the pieces of the one before
  std::map<std::string, std::string> files;  // name and content of everything that was read
};

// The files of a tokenizer by name, with their content.
using TokenizerFiles = std::map<std::string, std::string>;

// Reads what a tokenizer may have of files in the folder.
TokenizerFiles load_tokenizer_files(const std::filesystem::path& folder);

// `folder` is named in messages only. Throws InputError with file and field.
TokenizerSpec parse_tokenizer_files(TokenizerFiles files, const std::filesystem::path& folder);

}  // namespace bicrl

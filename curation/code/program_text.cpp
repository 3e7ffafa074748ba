#include "curation/code/program_text.h"

#include <algorithm>
#include <cctype>

#include "common/rng.h"

namespace bicrl::curation {
namespace {

constexpr size_t kWindow = 5;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// The end of a comment that begins at `at`; `at` itself if none does. Python's are told from directives of
// the C preprocessor by the blank behind the mark.
size_t end_of_comment(const std::string& text, size_t at) {
  const auto begins = [&](const char* mark) { return text.compare(at, 2, mark) == 0; };
  if (begins("/*")) {
    const size_t end = text.find("*/", at + 2);
    return end == text.npos ? text.size() : end + 2;
  }
  if (begins("//") || begins("# ")) return std::min(text.find('\n', at), text.size());
  return at;
}

}  // namespace

std::vector<std::string> program_words(const std::string& program) {
  std::vector<std::string> words;
  for (size_t at = 0; at < program.size();) {
    if (const size_t end = end_of_comment(program, at); end > at) {
      at = end;
    } else if (std::isspace(static_cast<unsigned char>(program[at]))) {
      ++at;
    } else {
      size_t last = at + 1;
      if (is_word(program[at]))
        while (last < program.size() && is_word(program[last])) ++last;
      words.push_back(program.substr(at, last - at));
      at = last;
    }
  }
  return words;
}

std::vector<uint64_t> program_features(const std::vector<std::string>& words) {
  std::vector<uint64_t> features;
  for (size_t begin = 0; begin == 0 || begin + kWindow <= words.size(); ++begin) {
    uint64_t hash = 0;
    for (size_t i = begin; i < std::min(begin + kWindow, words.size()); ++i) hash = mix_key(hash, words[i]);
    features.push_back(hash);
  }
  std::sort(features.begin(), features.end());
  return features;
}

}  // namespace bicrl::curation

#include "curation/code/program_text.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "common/rng.h"

namespace bicrl::curation {
namespace {

constexpr size_t kWindow = 5;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// Reads a program from its begin to its end. In Python `#` begins a comment and `//` divides; in a string of
// three quotes, which is where CUDA sources stand, `#` begins a directive and `//` a comment.
class WordReader {
 public:
  explicit WordReader(const std::string& text) : text_(text) {}

  std::vector<std::string> words() {
    while (at_ < text_.size()) {
      if (const size_t end = end_of_comment(); end > at_) {
        at_ = end;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        if (text_[at_] == '\n' && closing_.size() == 1) closing_.clear();  // a string without an end
        ++at_;
      } else {
        const size_t length = length_of_word();
        words_.push_back(text_.substr(at_, length));
        at_ += length;
      }
    }
    return std::move(words_);
  }

 private:
  bool begins(std::string_view mark) const { return text_.compare(at_, mark.size(), mark) == 0; }
  bool in_source() const { return closing_.size() == 3; }
  size_t found(std::string_view mark, size_t from) const {
    return std::min(text_.find(mark, from), text_.size());
  }

  // The end of a comment that begins here; this place if none does.
  size_t end_of_comment() const {
    if (closing_.empty()) return text_[at_] == '#' ? found("\n", at_) : at_;
    if (!in_source()) return at_;
    const size_t end_of_source = found(closing_, at_);
    if (begins("/*")) return std::min(found("*/", at_ + 2) + 2, end_of_source);
    if (begins("//")) return std::min(found("\n", at_), end_of_source);
    return at_;
  }

  size_t length_of_word() {
    const char c = text_[at_];
    if (is_word(c)) {
      size_t last = at_ + 1;
      while (last < text_.size() && is_word(text_[last])) ++last;
      return last - at_;
    }
    if (!closing_.empty() && begins(closing_)) {
      const size_t length = closing_.size();
      closing_.clear();
      return length;
    }
    if (closing_.empty() && (c == '"' || c == '\'')) {
      const std::string three(3, c);
      closing_ = begins(three) ? three : std::string(1, c);
      return closing_.size();
    }
    if (!closing_.empty() && c == '\\') return std::min<size_t>(2, text_.size() - at_);
    if (in_source() && c == '"') return length_of_literal();
    return 1;
  }

  // Of a text in CUDA source, in which no comment begins; 1 where the line has no end of it.
  size_t length_of_literal() const {
    for (size_t last = at_ + 1; last < text_.size() && text_[last] != '\n'; ++last) {
      if (text_.compare(last, closing_.size(), closing_) == 0) return 1;
      if (text_[last] == '\\')
        ++last;
      else if (text_[last] == '"')
        return last + 1 - at_;
    }
    return 1;
  }

  const std::string& text_;
  size_t at_ = 0;
  std::string closing_;  // quotes that end the string that this place is in; empty: it is in none
  std::vector<std::string> words_;
};

}  // namespace

std::vector<std::string> program_words(const std::string& program) { return WordReader(program).words(); }

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

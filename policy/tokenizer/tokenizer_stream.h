// The text of tokens that come one by one.
#pragma once
#include <cstdint>
#include <string>

#include "policy/tokenizer/tokenizer.h"

namespace bicrl {

// What read() and finish() return, in a row, is what Tokenizer::decode() makes of all tokens, and each part
// is valid UTF-8: the bytes of a character that is not complete yet stay here until it is, or cannot become
// one. Refers to the tokenizer, which outlives it; not thread-safe.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // What is certain with this token; mostly its text, nothing if it ends within a character.
  std::string read(int64_t token);
  // After the last token: U+FFFD for a character that was never completed.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  std::string pending_;  // at most 3 bytes, the beginning of a character
};

}  // namespace bicrl

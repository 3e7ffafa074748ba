#include "policy/tokenizer/tokenizer_stream.h"

#include <utility>

#include "policy/tokenizer/tokenizer_unicode.h"

namespace bicrl {

std::string TextStream::read(int64_t token) {
  pending_ += tokenizer_.bytes(token);
  const size_t certain = pending_.size() - unicode::unfinished_bytes(pending_);
  std::string text = unicode::replace_invalid_utf8(std::string_view(pending_).substr(0, certain));
  pending_.erase(0, certain);
  return text;
}

std::string TextStream::finish() { return unicode::replace_invalid_utf8(std::exchange(pending_, {})); }

}  // namespace bicrl

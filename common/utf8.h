// Text from outside made fit for messages that allow nothing but UTF-8, and have limits.
#pragma once
#include <string>
#include <string_view>

namespace bicrl {

// The text with every byte that is not part of well-formed UTF-8 replaced by U+FFFD: Protobuf refuses the
// rest.
std::string to_utf8(const std::string& bytes);

// At most so many bytes of the text's beginning, without a part of a character at the end. Inline: libraries
// without this room use it as well.
inline std::string_view utf8_head(std::string_view text, size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  while (most_bytes > 0 && (static_cast<unsigned char>(text[most_bytes]) & 0xC0) == 0x80) --most_bytes;
  return text.substr(0, most_bytes);
}

}  // namespace bicrl

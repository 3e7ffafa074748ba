// The Unicode that the tokenizer needs: UTF-8 checking and canonical composition (NFC). Stateless functions.
#pragma once
#include <string>
#include <string_view>

namespace bicrl::unicode {

// Length of the well-formed character at text[at], or 0 if the bytes there are none.
size_t character_length(std::string_view text, size_t at);

bool is_valid_utf8(std::string_view text);

// Each maximal part of an ill-formed sequence becomes one U+FFFD, as in Python's errors="replace".
std::string replace_invalid_utf8(std::string_view text);

// Bytes at the end of `text` that may yet become a character, if the right ones follow: 0 to 3.
size_t unfinished_bytes(std::string_view text);

// Canonical decomposition, canonical order, canonical composition. `text` must be valid UTF-8.
std::string to_nfc(std::string_view text);

// Bytes of white space at the front or the back of valid UTF-8.
size_t leading_space_bytes(std::string_view text);
size_t trailing_space_bytes(std::string_view text);

void append_utf8(std::string& out, char32_t character);
// Decodes the character at text[at], which must be well-formed, and moves `at` behind it.
char32_t next_character(std::string_view text, size_t& at);

}  // namespace bicrl::unicode

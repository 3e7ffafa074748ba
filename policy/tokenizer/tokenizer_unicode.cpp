#include "policy/tokenizer/tokenizer_unicode.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace bicrl::unicode {
namespace {

struct Decomposition {
  char32_t character, first, second;  // second is 0 for a singleton
};
struct CombiningRange {
  char32_t first, last;
  uint8_t value;
};
struct Composition {
  char32_t first, second, result;
};
#include "policy/tokenizer/tokenizer_nfc_table.inc"

// Hangul syllables compose by arithmetic.
constexpr char32_t kHangulBase = 0xAC00, kLeadBase = 0x1100, kVowelBase = 0x1161, kTailBase = 0x11A7;
constexpr char32_t kLeads = 19, kVowels = 21, kTails = 28, kSyllables = kLeads * kVowels * kTails;

uint8_t combining_class(char32_t character) {
  const auto* found =
      std::lower_bound(std::begin(kCombining), std::end(kCombining), character,
                       [](const CombiningRange& range, char32_t c) { return range.last < c; });
  return found != std::end(kCombining) && found->first <= character ? found->value : 0;
}

void decompose(char32_t character, std::u32string& out) {
  if (character - kHangulBase < kSyllables) {
    const char32_t index = character - kHangulBase;
    out += kLeadBase + index / (kVowels * kTails);
    out += kVowelBase + index % (kVowels * kTails) / kTails;
    if (index % kTails) out += kTailBase + index % kTails;
    return;
  }
  const auto* found = std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), character,
                                       [](const Decomposition& d, char32_t c) { return d.character < c; });
  if (found == std::end(kDecompositions) || found->character != character) {
    out += character;
    return;
  }
  decompose(found->first, out);
  if (found->second) decompose(found->second, out);
}

// 0 if the pair does not compose.
char32_t compose(char32_t first, char32_t second) {
  if (first - kLeadBase < kLeads && second - kVowelBase < kVowels)
    return kHangulBase + ((first - kLeadBase) * kVowels + (second - kVowelBase)) * kTails;
  if (first - kHangulBase < kSyllables && (first - kHangulBase) % kTails == 0 && second > kTailBase &&
      second < kTailBase + kTails)
    return first + (second - kTailBase);
  const auto* found =
      std::lower_bound(std::begin(kCompositions), std::end(kCompositions), std::pair(first, second),
                       [](const Composition& c, const std::pair<char32_t, char32_t>& key) {
                         return std::pair(c.first, c.second) < key;
                       });
  return found != std::end(kCompositions) && found->first == first && found->second == second ? found->result
                                                                                              : 0;
}

void order_canonically(std::u32string& text) {
  for (size_t i = 0; i < text.size();) {
    if (combining_class(text[i]) == 0) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && combining_class(text[end]) != 0) ++end;
    std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(i),
                     text.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    i = end;
  }
}

// Composes each mark with the last starter unless a mark of the same or a higher class stands between.
std::u32string compose_all(const std::u32string& text) {
  std::u32string out;
  size_t starter = std::u32string::npos;
  int last_class = -1;  // class of the last character kept after the starter; -1 directly behind it
  for (const char32_t character : text) {
    const int now = combining_class(character);
    const bool reachable = starter != std::u32string::npos && (last_class < now);
    const char32_t joined = reachable ? compose(out[starter], character) : 0;
    if (joined) {
      out[starter] = joined;
      continue;
    }
    if (now == 0) {
      starter = out.size();
      last_class = -1;
    } else {
      last_class = now;
    }
    out += character;
  }
  return out;
}

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool leads_several_bytes(unsigned char byte) { return byte >= 0xC2 && byte <= 0xF4; }

// Length of the longest prefix of a well-formed character at text[at] (at least 1), and whether it is
// complete.
std::pair<size_t, bool> character_prefix(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {1, true};
  if (!leads_several_bytes(lead)) return {1, false};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and what lies above U+10FFFF.
  unsigned char low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || byte(at + i) < low || byte(at + i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

}  // namespace

size_t character_length(std::string_view text, size_t at) {
  const auto [length, complete] = character_prefix(text, at);
  return complete ? length : 0;
}

bool is_valid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const size_t length = character_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto [length, complete] = character_prefix(text, at);
    if (complete)
      out += text.substr(at, length);
    else
      out += "\xEF\xBF\xBD";
    at += length;
  }
  return out;
}

size_t unfinished_bytes(std::string_view text) {
  for (size_t count = 1; count <= std::min<size_t>(3, text.size()); ++count) {
    const size_t at = text.size() - count;
    if (!leads_several_bytes(static_cast<unsigned char>(text[at]))) continue;
    const auto [length, complete] = character_prefix(text, at);
    return !complete && length == count ? count : 0;
  }
  return 0;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

char32_t next_character(std::string_view text, size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t character = length == 1 ? lead : lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i)
    character = character << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3F);
  at += length;
  return character;
}

std::string to_nfc(std::string_view text) {
  // Nothing below U+0300 is changed by composition; the first byte of U+0300 and above is at least 0xCC.
  const auto beyond = [](char byte) { return static_cast<unsigned char>(byte) >= 0xCC; };
  if (std::none_of(text.begin(), text.end(), beyond)) return std::string(text);
  std::u32string characters;
  characters.reserve(text.size());
  for (size_t at = 0; at < text.size();) decompose(next_character(text, at), characters);
  order_canonically(characters);
  std::string out;
  out.reserve(text.size());
  for (const char32_t character : compose_all(characters)) append_utf8(out, character);
  return out;
}

size_t leading_space_bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t next = at;
    if (!is_space(next_character(text, next))) break;
    at = next;
  }
  return at;
}

size_t trailing_space_bytes(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    size_t at = begin;
    if (!is_space(next_character(text, at))) break;
    end = begin;
  }
  return text.size() - end;
}

}  // namespace bicrl::unicode

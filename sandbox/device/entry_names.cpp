#include "sandbox/device/entry_names.h"

namespace bicrl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::string_view kUnnamed = "_GLOBAL__N_";

}  // namespace

// Only what the Itanium C++ ABI writes with a length in front can hold an `L` or digits of its own, so it is
// enough to step over source names and over numbers that are none.
std::string entry_key(std::string_view name) {
  std::string key;
  size_t i = 0;
  const auto digits_from = [&](size_t at) {
    while (at < name.size() && is_digit(name[at])) ++at;
    return at;
  };
  while (i < name.size()) {
    const char c = name[i];
    if (is_digit(c)) {
      const size_t after = digits_from(i);
      size_t length = 0;
      for (size_t d = i; d < after && length < name.size(); ++d)
        length = length * 10 + static_cast<size_t>(name[d] - '0');
      const std::string_view word = name.substr(after, length);
      if (length == 0 || word.size() < length || is_digit(word[0])) {
        key += name.substr(i, after - i);  // a number
        i = after;
        continue;
      }
      key += word.substr(0, kUnnamed.size()) == kUnnamed ? "12_GLOBAL__N_1"
                                                         : std::string(name.substr(i, after - i)).append(word);
      i = after + length;
      continue;
    }
    if (c == 'L' && i + 1 < name.size()) {
      if (is_digit(name[i + 1])) {  // internal linkage; literals of enumerations lose theirs in both names
        ++i;
        continue;
      }
      // A literal of a built-in type: its digits are a value.
      size_t value = i + 2;
      if (value < name.size() && name[value] == 'n') ++value;
      const size_t after = digits_from(value);
      if (name[i + 1] >= 'a' && name[i + 1] <= 'z' && after > value && after < name.size() && name[after] == 'E') {
        key += name.substr(i, after + 1 - i);
        i = after + 1;
        continue;
      }
    }
    // T0_, S1_, A10_: numbers of parameters, substitutions, extents.
    if ((c == 'T' || c == 'S' || c == 'A') && i + 1 < name.size() && is_digit(name[i + 1])) {
      const size_t after = digits_from(i + 1);
      if (after < name.size() && name[after] == '_') {
        key += name.substr(i, after + 1 - i);
        i = after + 1;
        continue;
      }
    }
    key += c;
    ++i;
  }
  return key;
}

}  // namespace bicrl

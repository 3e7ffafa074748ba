#include "sandbox/frontend/device/entry_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace bicrl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::string_view kUnnamed = "_GLOBAL__N_";
// NVRTC's scope of a static function or variable that is a template's argument.
constexpr std::string_view kInternal = "_INTERNAL_";

size_t digits_from(std::string_view name, size_t i) {
  while (i < name.size() && is_digit(name[i])) ++i;
  return i;
}

// The identifier whose length stands at i, with the place behind it; empty if there is none.
struct SourceName {
  std::string_view word;
  size_t end = 0;
};
SourceName source_name(std::string_view name, size_t i) {
  const size_t after = digits_from(name, i);
  size_t length = 0;
  for (size_t d = i; d < after && length < name.size(); ++d)
    length = length * 10 + static_cast<size_t>(name[d] - '0');
  if (length == 0 || name.size() - after < length || is_digit(name[after])) return {};
  return {name.substr(after, length), after + length};
}
bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Only what the Itanium C++ ABI writes with a length in front can hold an `L` or digits of its own, so it is
// enough to step over source names and over numbers that are none.
class KeyWriter {
 public:
  explicit KeyWriter(std::string_view name) : name_(name) {}

  std::string run() {
    while (i_ < name_.size()) {
      const char c = name_[i_];
      if (is_digit(c)) {
        number_or_name();
      } else if (c == 'N' && internal_scope()) {
      } else if (c == 'L' && linkage_or_literal()) {
      } else if ((c == 'T' || c == 'S' || c == 'A') && counted()) {
      } else {
        copy_to(i_ + 1);
      }
    }
    return std::move(key_);
  }

 private:
  char at(size_t i) const { return i < name_.size() ? name_[i] : '\0'; }
  void copy_to(size_t end) {
    key_ += name_.substr(i_, end - i_);
    i_ = end;
  }

  void number_or_name() {
    const SourceName source = source_name(name_, i_);
    if (source.word.empty()) return copy_to(digits_from(name_, i_));
    if (!starts_with(source.word, kUnnamed)) return copy_to(source.end);
    key_ += "12_GLOBAL__N_1";
    i_ = source.end;
  }

  // N <scope> <name> E is <name>; a longer path only loses the scope.
  bool internal_scope() {
    const SourceName scope = is_digit(at(i_ + 1)) ? source_name(name_, i_ + 1) : SourceName();
    if (!starts_with(scope.word, kInternal)) return false;
    i_ = scope.end;
    const SourceName inner = is_digit(at(i_)) ? source_name(name_, i_) : SourceName();
    if (!inner.word.empty() && at(inner.end) == 'E') {
      copy_to(inner.end);
      ++i_;
    } else {
      key_ += 'N';
    }
    return true;
  }

  bool linkage_or_literal() {
    // Internal linkage. A literal of an enumeration loses its L as well, in both names.
    if (is_digit(at(i_ + 1))) {
      ++i_;
      return true;
    }
    // A literal of a built-in type: its digits are a value.
    const size_t value = i_ + 2 + (at(i_ + 2) == 'n');
    const size_t after = digits_from(name_, value);
    if (at(i_ + 1) < 'a' || at(i_ + 1) > 'z' || after <= value || at(after) != 'E') return false;
    copy_to(after + 1);
    return true;
  }

  // T0_, S1_, A10_: numbers of parameters, substitutions, extents.
  bool counted() {
    const size_t after = digits_from(name_, i_ + 1);
    if (after == i_ + 1 || at(after) != '_') return false;
    copy_to(after + 1);
    return true;
  }

  std::string_view name_;
  size_t i_ = 0;
  std::string key_;
};

}  // namespace

std::string readable_name(const std::string& mangled) {
  constexpr size_t kMaxBytes = 200;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), free);
  return (status == 0 && text ? std::string(text.get()) : mangled).substr(0, kMaxBytes);
}

std::string entry_key(std::string_view mangled) {
  std::string key = KeyWriter(mangled).run();
  // _ZL1c: a static variable, which NVRTC does not mangle. Functions have parameters behind the name.
  if (starts_with(key, "_Z")) {
    const SourceName name = source_name(key, 2);
    if (!name.word.empty() && name.end == key.size()) return std::string(name.word);
  }
  return key;
}

}  // namespace bicrl

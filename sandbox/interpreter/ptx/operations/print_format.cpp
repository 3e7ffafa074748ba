#include "sandbox/interpreter/ptx/operations/print_format.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace bicrl::ptx {
namespace {

constexpr int kMaxWidth = static_cast<int>(kMaxPrintText / 4);

class Formatter {
 public:
  Formatter(std::string_view format, const PrintValues& values) : format_(format), values_(values) {}

  Printed run() {
    while (at_ < format_.size()) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      printed_.text += format_.substr(at_, percent - at_);
      at_ = percent;
      if (at_ < format_.size()) convert();
    }
    return std::move(printed_);
  }

 private:
  char peek() const { return at_ < format_.size() ? format_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  uint64_t next(uint32_t bytes) {
    ++printed_.values;
    return values_.next(bytes);
  }

  // A number, or the value of `*`.
  int number() {
    if (take('*')) return std::clamp(static_cast<int>(next(4)), -kMaxWidth, kMaxWidth);
    int value = 0;
    while (peek() >= '0' && peek() <= '9') value = std::min(value * 10 + (format_[at_++] - '0'), kMaxWidth);
    return value;
  }

  void convert() {
    const size_t begin = at_++;
    std::string spec = "%";
    while (std::string_view("-+ #0").find(peek()) != std::string_view::npos) spec += format_[at_++];
    const int width = number();
    if (width < 0) spec += '-';
    if (width != 0) spec += std::to_string(std::abs(width));
    if (take('.')) {
      const int precision = number();
      if (precision >= 0) spec += '.' + std::to_string(precision);
    }
    int shorts = 0, longs = 0;
    for (bool more = true; more;) {
      if (take('h'))
        ++shorts;
      else if (take('l') || take('j') || take('z') || take('t'))
        ++longs;
      else
        more = false;
    }
    const char conversion = peek();
    ++at_;
    switch (conversion) {
      case '%':
        printed_.text += '%';
        return;
      case 'd':
      case 'i':
        return write(spec + "lld", static_cast<long long>(signed_value(shorts, longs)));
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return write(spec + "ll" + conversion,
                     static_cast<unsigned long long>(unsigned_value(shorts, longs)));
      case 'c':
        return write(spec + 'c', static_cast<int>(next(4) & 0xFF));
      case 's':
        return write_text(spec + 's');
      case 'p':
        return write(spec + 'p', reinterpret_cast<const void*>(next(8)));
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        return write(spec + conversion, std::bit_cast<double>(next(8)));
      default:
        at_ = std::min(at_, format_.size());
        printed_.text += format_.substr(begin, at_ - begin);
    }
  }

  int64_t signed_value(int shorts, int longs) {
    if (longs > 0) return static_cast<int64_t>(next(8));
    const auto value = static_cast<int32_t>(next(4));
    return shorts > 1 ? static_cast<int8_t>(value) : shorts > 0 ? static_cast<int16_t>(value) : value;
  }
  uint64_t unsigned_value(int shorts, int longs) {
    if (longs > 0) return next(8);
    const auto value = static_cast<uint32_t>(next(4));
    return shorts > 1 ? value & 0xFF : shorts > 0 ? value & 0xFFFF : value;
  }

  void write_text(const std::string& spec) {
    const uint64_t address = next(8);
    const std::string text = address == 0 ? "(null)" : values_.text(address);
    write(spec, text.c_str());
  }

  // The specification is made of what convert() let through: flags, numbers within limits, one conversion.
  template <class Value>
  void write(const std::string& spec, Value value) {
    char text[2 * kMaxPrintText];
    const int bytes = snprintf(text, sizeof text, spec.c_str(), value);
    if (bytes > 0) printed_.text.append(text, std::min(static_cast<size_t>(bytes), sizeof text - 1));
  }

  const std::string_view format_;
  const PrintValues& values_;
  size_t at_ = 0;
  Printed printed_;
};

}  // namespace

Printed format_print(std::string_view format, const PrintValues& values) {
  return Formatter(format, values).run();
}

}  // namespace bicrl::ptx

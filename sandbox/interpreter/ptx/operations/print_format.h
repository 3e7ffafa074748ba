// printf's formats, as the device runtime has them. Pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace bicrl::ptx {

// Longest text of a format or of %s that is looked at; widths and precisions are cut to a quarter of it.
constexpr size_t kMaxPrintText = 4096;

// Where the values come from. Both may throw.
struct PrintValues {
  // The next value of 4 or 8 bytes, in the order of the format.
  std::function<uint64_t(uint32_t bytes)> next;
  // The text at an address that %s names.
  std::function<std::string(uint64_t address)> text;
};

struct Printed {
  std::string text;
  uint32_t values = 0;  // that the format asked for, those of `*` included
};

// Knows %d %i %u %o %x %X %c %s %p %f %F %e %E %g %G %a %A and %% with flags, width, precision and the length
// modifiers hh, h, l, ll, j, z and t. Anything else stands for itself. An integer without l, ll, j, z or t is
// 4 bytes, everything else 8.
Printed format_print(std::string_view format, const PrintValues& values);

}  // namespace bicrl::ptx

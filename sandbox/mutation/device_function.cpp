#include "sandbox/mutation/device_function.h"

namespace bicrl {

bool DeviceFunction::begins_statement(size_t i) const {
  const size_t before = previous(i);
  return is(before, ";") || is(before, "{") || is(before, "}") || is(before, ")") || is(before, "else");
}

size_t DeviceFunction::statement_end(size_t i) const {
  for (; i < end_; i = next(i)) {
    if (is(i, ";")) return i;
    if (is(i, "(") || is(i, "[") || is(i, "{")) i = partner(i);
    if (i >= end_) break;
  }
  return end_;
}

std::vector<std::pair<size_t, size_t>> DeviceFunction::arguments(size_t open) const {
  std::vector<std::pair<size_t, size_t>> found;
  const size_t close = partner(open);
  if (close >= end_) return found;
  size_t begin = next(open), last = begin;
  for (size_t i = begin; i < close; i = next(i)) {
    if (is(i, ",")) {
      found.emplace_back(begin, last);
      begin = next(i);
      continue;
    }
    if (is(i, "(") || is(i, "[") || is(i, "{")) i = partner(i);
    if (i >= close) return {};
    last = i;
  }
  if (begin < close) found.emplace_back(begin, last);
  return found;
}

}  // namespace bicrl

#include "common/files/last_lines.h"

namespace bicrl {

std::string last_lines(const std::string& output) {
  constexpr size_t kKeepBytes = 400;
  const std::string text = output.substr(0, output.find_last_not_of(" \t\r\n") + 1);
  if (text.size() <= kKeepBytes) return text;
  const std::string end = text.substr(text.size() - kKeepBytes);
  return end.substr(end.find('\n') + 1);  // all if there is one line only
}

}  // namespace bicrl

#include "report/line_diff.h"

#include <algorithm>
#include <cstdint>

namespace bicrl::report {
namespace {

constexpr size_t kMostLines = 2000;

}  // namespace

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<bool> differing_lines(const std::vector<std::string>& lines,
                                  const std::vector<std::string>& other) {
  std::vector<bool> differs(lines.size(), true);
  if (lines.size() > kMostLines || other.size() > kMostLines) {
    for (size_t i = 0; i < lines.size(); ++i) differs[i] = i >= other.size() || lines[i] != other[i];
    return differs;
  }
  // longest[i][j]: of the lines from i on and the others from j on.
  const size_t width = other.size() + 1;
  std::vector<uint16_t> longest((lines.size() + 1) * width, 0);
  for (size_t i = lines.size(); i-- > 0;)
    for (size_t j = other.size(); j-- > 0;)
      longest[i * width + j] = lines[i] == other[j]
                                   ? static_cast<uint16_t>(longest[(i + 1) * width + j + 1] + 1)
                                   : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
  for (size_t i = 0, j = 0; i < lines.size() && j < other.size();) {
    if (lines[i] == other[j]) {
      differs[i++] = false;
      ++j;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return differs;
}

SharedLines shared_lines(const std::vector<std::vector<std::string>>& texts) {
  SharedLines shared;
  if (texts.size() < 2) return shared;
  size_t shortest = texts[0].size();
  for (const auto& text : texts) shortest = std::min(shortest, text.size());
  const auto all_have = [&](auto line) {
    return std::ranges::all_of(texts, [&](const auto& text) { return line(text) == line(texts[0]); });
  };
  while (shared.head < shortest && all_have([&](const auto& text) { return text[shared.head]; }))
    ++shared.head;
  while (shared.head + shared.tail < shortest &&
         all_have([&](const auto& text) { return text[text.size() - 1 - shared.tail]; }))
    ++shared.tail;
  return shared;
}

}  // namespace bicrl::report

#include "common/json_entries.h"

#include <algorithm>

#include "common/error.h"
#include "common/json.h"

namespace bicrl {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlank = " \t\r\n";
constexpr size_t kErrorsNamed = 10;

void read_list(std::string_view text, const std::string& file, const EntryTaker& taker) {
  const auto list = try_parse_json(text);
  if (!list) throw InputError(concat(file, ": is not JSON: ", list.reason()));
  size_t entry = 0;
  for (const auto& value : list.value()) taker.take(++entry, value);
}

void read_lines(std::string_view text, const EntryTaker& taker) {
  size_t line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    read_json_line(++line_number, line, taker);
  }
}

}  // namespace

void read_json_line(size_t number, std::string_view line, const EntryTaker& taker) {
  if (line.find_first_not_of(kBlank) == line.npos) return;
  if (const auto entry = try_parse_json(line))
    taker.take(number, entry.value());
  else
    taker.broken(number, concat("is not JSON: ", entry.reason()));
}

void read_json_entries(std::string_view text, const std::string& file, const EntryTaker& taker) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t start = text.find_first_not_of(kBlank);
  const char opening = start == text.npos ? '\0' : text[start];
  if (opening == '[') {
    read_list(text, file, taker);
  } else if (opening == '{') {
    read_lines(text, taker);
  } else if (opening != '\0') {
    throw InputError(concat(file, ": is neither a JSON list nor JSON lines"));
  }
}

std::string joined_entry_errors(const std::vector<std::string>& messages) {
  std::string joined;
  for (size_t i = 0; i < std::min(messages.size(), kErrorsNamed); ++i)
    joined += (i > 0 ? "\n" : "") + messages[i];
  if (messages.size() > kErrorsNamed)
    joined += concat("\n... and ", messages.size() - kErrorsNamed, " more broken entries");
  return joined;
}

}  // namespace bicrl

#include "sandbox/frontend/device/device_log.h"

#include <algorithm>
#include <cctype>

#include "common/utf8.h"

namespace bicrl {
namespace {

constexpr std::string_view kText = "cuda_sources";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// FILE(LINE): error: ...
bool begins_message(std::string_view line) {
  const size_t error = line.find("error");
  return !line.empty() && !is_blank(line.front()) && error != std::string_view::npos &&
         line.substr(0, error).find(": ") != std::string_view::npos;
}

bool continues_path(char c) {
  return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

std::string without_folders(std::string line, const std::vector<std::string>& folders) {
  // Longer ones first: one folder may lie in another.
  for (const std::string& folder : folders)
    for (size_t at = 0; (at = line.find(folder + "/", at)) != std::string::npos;) {
      if (at > 0 && continues_path(line[at - 1]))
        ++at;
      else
        line.erase(at, folder.size() + 1);
    }
  return line;
}

}  // namespace

std::string readable_device_log(std::string_view log, const std::vector<std::string>& include_folders,
                                size_t max_bytes) {
  std::vector<std::string> folders = include_folders;
  std::sort(folders.begin(), folders.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  std::string text;
  bool ours = false;  // the message is about a line of a header: what is indented below it is the header's
  for (size_t begin = 0; begin < log.size() && text.size() < max_bytes;) {
    const size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line = log.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const bool names_text = line.find(kText) != std::string_view::npos;
    if (begins_message(line))
      ours = line.substr(0, kText.size()) != kText;
    else if (!is_blank(line.front()))
      ours = false;
    else if (ours && !names_text)
      continue;
    text += without_folders(std::string(line), folders) + "\n";
  }
  text.resize(utf8_head(text, max_bytes).size());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace bicrl

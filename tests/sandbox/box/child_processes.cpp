#include "tests/sandbox/box/child_processes.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "common/error.h"

namespace bicrl::testing {
namespace {

// getline() takes the failure of a file whose process has ended; an iterator would throw it.
std::string command_line(pid_t process) {
  std::ifstream file(concat("/proc/", process, "/cmdline"), std::ios::binary);
  std::string line;
  for (std::string word; std::getline(file, word, '\0');) line += word + ' ';
  return line;
}

}  // namespace

std::vector<pid_t> descendants() {
  std::multimap<pid_t, pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text, '\0');
    const size_t end = text.rfind(')');
    if (end != text.npos)
      children.emplace(static_cast<pid_t>(atoi(text.c_str() + end + 4)), static_cast<pid_t>(std::stoi(name)));
  }
  std::vector<pid_t> found{getpid()};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

std::vector<pid_t> descendants_with(const std::string& text) {
  std::vector<pid_t> found = descendants();
  std::erase_if(found, [&](pid_t process) { return command_line(process).find(text) == std::string::npos; });
  return found;
}

}  // namespace bicrl::testing

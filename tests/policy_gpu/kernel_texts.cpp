#include "tests/policy_gpu/kernel_texts.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <sstream>

#include "common/files/files.h"

namespace bicrl::testing {

ptx::testing::KernelRunner interpreter_with(const std::string& file) {
  std::istringstream paths(BICRL_KERNEL_TEXTS);
  for (std::string path; std::getline(paths, path, ':');) {
    if (path.find("/" + file + ".") == std::string::npos) continue;
    ptx::testing::RunnerOptions options;
    options.ptx = read_file(path);
    return ptx::testing::KernelRunner("", options);
  }
  FAIL("no text of " << file << " among " << BICRL_KERNEL_TEXTS);
  throw std::logic_error(file);
}

std::string kernel_named(const ptx::testing::KernelRunner& interpreter,
                         const std::vector<std::string>& parts) {
  static const std::regex kEntry(R"(\.entry\s+([A-Za-z0-9_$]+))");
  std::vector<std::string> found;
  const std::string& text = interpreter.ptx();
  for (std::sregex_iterator i(text.begin(), text.end(), kEntry), end; i != end; ++i) {
    const std::string name = (*i)[1];
    if (std::all_of(parts.begin(), parts.end(),
                    [&](const std::string& part) { return name.find(part) != std::string::npos; }))
      found.push_back(name);
  }
  REQUIRE(found.size() == 1);
  return found.front();
}

}  // namespace bicrl::testing

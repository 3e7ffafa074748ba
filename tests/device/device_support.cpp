#include "tests/device/device_support.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "common/files/files.h"
#include "common/json.h"
#include "sandbox/frontend/device/entry_names.h"
#include "sandbox/interpreter/ptx/lowering/kernel.h"
#include "sandbox/interpreter/ptx/syntax/parser.h"
#include "tests/support/cuda_wheel.h"
#include "tests/support/support.h"

namespace bicrl::testing {

namespace fs = std::filesystem;

DeviceCompiler limited_compiler(size_t max_ptx_bytes) {
  const CudaWheel wheel = cuda_wheel();
  const fs::path shim = bicrl::testing::build_path("share/bicrl/device/include");
  DeviceCompilerOptions options;
  options.library = wheel.compiler.string();
  options.include_folders = {shim.string(), wheel.headers.string(), wheel.template_headers.string()};
  options.max_ptx_bytes = max_ptx_bytes;
  const auto compiler = DeviceCompiler::load(options);
  REQUIRE((compiler.ok() ? "" : compiler.reason()) == "");
  return compiler.value();
}

const DeviceCompiler& device_compiler() {
  static const DeviceCompiler loaded = limited_compiler(DeviceCompilerOptions().max_ptx_bytes);
  return loaded;
}

std::set<std::string> entries_of(const std::string& ptx) {
  std::set<std::string> names;
  const auto module = ptx::parse_module(ptx);
  REQUIRE((module.ok() ? "" : module.reason()) == "");
  for (const ptx::Function& function : module.value().functions)
    if (function.is_entry) names.insert(function.name);
  return names;
}

std::set<std::string> entry_keys_of(const std::string& ptx) {
  std::set<std::string> keys;
  for (const std::string& name : entries_of(ptx)) keys.insert(entry_key(name));
  return keys;
}

void check_lowers(const std::string& ptx) {
  const auto module = ptx::parse_module(ptx);
  REQUIRE((module.ok() ? "" : module.reason()) == "");
  for (const ptx::Function& function : module.value().functions) {
    if (!function.is_entry) continue;
    const auto kernel = ptx::lower_kernel(module.value(), function.name);
    INFO(function.name);
    CHECK((kernel.ok() ? "" : kernel.reason()) == "");
  }
}

std::set<std::string> host_symbols(const std::string& text) {
  const TemporaryFolder folder;
  const fs::path source = folder.path() / "host.cpp", object = folder.path() / "host.o",
                 list = folder.path() / "symbols";
  write_file_atomically(source, text);
  const std::string command = "g++ -std=c++17 -w -c '" + source.string() + "' -o '" + object.string() +
                              "' && nm '" + object.string() + "' > '" + list.string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  std::set<std::string> names;
  std::istringstream lines(read_file(list));
  for (std::string line; std::getline(lines, line);)
    if (const size_t space = line.rfind(' '); space != std::string::npos)
      names.insert(line.substr(space + 1));
  return names;
}

std::vector<NamedText> own_programs() {
  std::vector<NamedText> programs;
  const fs::path folder = bicrl::testing::source_path("tests/device/programs");
  for (const auto& entry : fs::directory_iterator(folder))
    programs.push_back({entry.path().stem().string(), read_file(entry.path())});
  std::sort(programs.begin(), programs.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return programs;
}

std::vector<NamedText> published_programs() {
  std::vector<NamedText> programs;
  const auto tasks = parse_json(read_file(published_file("infilling_tasks.json")), "tasks");
  for (const auto& task : tasks) {
    const std::string code = task.at("cuda_code");
    NamedText program{task.at("id").is_string() ? task.at("id").get<std::string>() : task.at("id").dump(),
                      ""};
    // The longest text in triple quotes that has a kernel.
    for (const std::string quotes : {"\"\"\"", "'''"}) {
      for (size_t open = code.find(quotes); open != std::string::npos;) {
        const size_t close = code.find(quotes, open + 3);
        if (close == std::string::npos) break;
        const std::string text = code.substr(open + 3, close - open - 3);
        if (text.find("__global__") != std::string::npos && text.size() > program.text.size())
          program.text = text;
        open = code.find(quotes, close + 3);
      }
    }
    programs.push_back(program);
  }
  return programs;
}

}  // namespace bicrl::testing

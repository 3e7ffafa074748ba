#include "tests/support/support.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace bicrl::testing {
namespace fs = std::filesystem;

namespace {

fs::path published_folder() {
  const char* named = getenv("BICRL_DATA");
  return named ? fs::path(named) : source_path("../shared/data");
}

std::vector<fs::path> ours_and_published(const std::string& ours, const std::string& published) {
  std::vector<fs::path> paths = {source_path("tests/data") / ours};
  if (fs::exists(published_folder() / published)) paths.push_back(published_folder() / published);
  return paths;
}

}  // namespace

fs::path source_path(const std::string& relative) { return fs::path(BICRL_SOURCE_DIR) / relative; }

fs::path build_path(const std::string& relative) { return fs::path(BICRL_BINARY_DIR) / relative; }

fs::path published_file(const std::string& relative) {
  const fs::path path = published_folder() / relative;
  if (!fs::exists(path))
    SKIP("published file " << relative << " is not under BICRL_DATA (" << published_folder().string() << ")");
  return path;
}

std::vector<fs::path> task_files(const std::string& name) { return ours_and_published(name, name); }

std::vector<fs::path> sdar_tokenizers() { return ours_and_published("tokenizer", "sdar-8b"); }

std::string test_python() {
  const char* named = getenv("BICRL_TEST_PYTHON");
  return named ? named : BICRL_TEST_PYTHON;
}

void run_python(const fs::path& script, const std::vector<std::string>& args) {
  std::string command = "'" + test_python() + "' '" + script.string() + "'";
  for (const auto& arg : args) command += " '" + arg + "'";
  command += " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  char buffer[4096];
  while (size_t n = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP(output);
  INFO(command << "\n" << output);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  INFO(from);
  size_t at = text.find(from);
  REQUIRE(at != text.npos);
  for (; at != text.npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "bicrl_test_XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed for " + pattern);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace bicrl::testing

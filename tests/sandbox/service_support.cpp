#include "tests/sandbox/service_support.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "common/error.h"
#include "common/files.h"

namespace bicrl::testing {
namespace fs = std::filesystem;
namespace {

// Made once; skips the test with the reason if the machine lacks what it needs.
template <class T, class Make>
T& made_once(Make make) {
  static const auto made = [&]() -> std::pair<std::unique_ptr<T>, std::string> {
    try {
      return {make(), ""};
    } catch (const Error& error) {
      return {nullptr, error.what()};
    }
  }();
  if (!made.first) SKIP(made.second);
  return *made.first;
}

std::unique_ptr<Pipeline> make_pipeline(double compile_s, double record_s, double replay_s) {
  PipelineOptions options;
  options.python = BICRL_TEST_PYTHON;
  options.compile.wall_s = compile_s;
  options.record.wall_s = record_s;
  options.replay.wall_s = replay_s;
  options.oracle.wall_s = 3600;
  options.compile.memory_bytes = 1ull << 30;
  options.record.memory_bytes = 512ull << 20;
  options.replay.memory_bytes = 512ull << 20;
  return std::make_unique<Pipeline>(options);
}

fs::path corpus_folder() { return fs::path(BICRL_SOURCE_DIR) / "tests" / "sandbox" / "candidates"; }

std::string field(const std::string& program, const std::string& name) {
  const std::string key = "# " + name + ": ";
  const size_t at = program.find(key);
  REQUIRE(at != std::string::npos);
  return program.substr(at + key.size(), program.find('\n', at) - at - key.size());
}

}  // namespace

BoxHost& box_host() {
  return made_once<BoxHost>([] { return std::make_unique<BoxHost>(); });
}

Pipeline& pipeline() {
  return made_once<Pipeline>([] { return make_pipeline(600, 600, 600); });
}

Pipeline& impatient_pipeline() {
  return made_once<Pipeline>([] { return make_pipeline(6, 3, 0.8); });
}

bool CorpusEntry::expects(const std::string& fault_class) const {
  return ("|" + classes + "|").find("|" + fault_class + "|") != std::string::npos;
}

CorpusEntry corpus_entry(const std::string& name) {
  CorpusEntry entry;
  entry.name = name;
  entry.request.program = read_file(corpus_folder() / (name + ".py"));
  entry.classes = field(entry.request.program, "class");
  entry.request.task_id = field(entry.request.program, "task");
  entry.request.pytorch_code = read_file(corpus_folder() / "tasks" / (entry.request.task_id + ".py"));
  entry.request.request_id = name;
  entry.request.protocol = kDefaultProtocol;
  return entry;
}

std::vector<std::string> corpus_names() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(corpus_folder()))
    if (file.path().extension() == ".py") names.push_back(file.path().stem());
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() > 70);
  return names;
}

}  // namespace bicrl::testing

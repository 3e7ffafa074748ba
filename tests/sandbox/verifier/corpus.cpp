#include "tests/sandbox/verifier/corpus.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "common/files/files.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl::testing {
namespace fs = std::filesystem;
namespace {

// $BICRL_SOURCE: where the sources are on another machine than that of the build.
fs::path path_of(const std::string& folder) {
  const char* named = getenv("BICRL_SOURCE");
  return (named ? fs::path(named) : testing::source_path("")) / "tests" / folder;
}

using Programs = std::map<std::string, std::string>;  // texts by name

Programs expanded(const std::string& folder) {
  TemporaryFolder out;
  run_python(path_of("corpora") / "expand.py", {"--all", path_of(folder), out.path()});
  Programs programs;
  for (const auto& file : fs::directory_iterator(out.path()))
    programs[file.path().stem()] = read_file(file.path());
  return programs;
}

const Programs& programs_of(const std::string& folder) {
  static std::map<std::string, Programs> known;
  const auto found = known.find(folder);
  return found != known.end() ? found->second : known.emplace(folder, expanded(folder)).first->second;
}

std::string field(const std::string& program, const std::string& name) {
  const std::string key = "# " + name + ": ";
  const size_t at = program.find(key);
  REQUIRE(at != std::string::npos);
  return program.substr(at + key.size(), program.find('\n', at) - at - key.size());
}

}  // namespace

bool CorpusEntry::expects(const std::string& fault_class) const {
  return ("|" + classes + "|").find("|" + fault_class + "|") != std::string::npos;
}

CorpusEntry corpus_entry(const std::string& folder, const std::string& name) {
  INFO(folder << "/" << name);
  CorpusEntry entry;
  entry.name = name;
  const Programs& programs = programs_of(folder);
  REQUIRE(programs.contains(name));
  entry.request.program = programs.at(name);
  entry.classes = field(entry.request.program, "class");
  entry.request.task_id = field(entry.request.program, "task");
  entry.request.pytorch_code = read_file(path_of(folder) / "tasks" / (entry.request.task_id + ".py"));
  entry.request.request_id = name;
  entry.request.protocol = kDefaultProtocol;
  return entry;
}

std::vector<CorpusEntry> corpus(const std::string& folder) {
  std::vector<CorpusEntry> entries;
  for (const auto& [name, text] : programs_of(folder)) entries.push_back(corpus_entry(folder, name));
  return entries;
}

void for_each_entry(const std::vector<CorpusEntry>& entries, int at_a_time,
                    const std::function<void(size_t, Pipeline&)>& visit) {
  pipeline();  // skips here if there are no boxes
  impatient_pipeline();
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> workers;
  for (int i = 0; i < at_a_time; ++i)
    workers.emplace_back([&] {
      for (size_t k; (k = next++) < entries.size();)
        visit(k, entries[k].endless() ? impatient_pipeline() : pipeline());
    });
}

}  // namespace bicrl::testing

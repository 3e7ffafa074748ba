// Files that a pipeline leaves behind: what it does where they are damaged, and which ones it refuses to
// make.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using testing::TemporaryFolder;

std::string write_step(const std::string& file) {
  return concat("  - {step: write, file: ", file, ", form: end_to_end}\n");
}

TEST_CASE("files of a pipeline that are deleted or damaged are made again") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 9);
  FakeServices services;
  const std::string yaml =
      pipeline_of(folder.path(), concat("  - {step: filter, conditions: [{value: level, at_least: 1}]}\n",
                                        write_step("out.jsonl"), write_step("out.json")));
  const fs::path run = folder.path() / "run";
  run_pipeline(yaml, services);
  const auto whole = outputs_of(run);
  for (const char* file : {"out.jsonl", "out.json", "records/01-load.jsonl", "records/02-filter.jsonl",
                           "audit/02-filter.jsonl", "records/04-write.jsonl"}) {
    INFO(file);
    fs::remove(run / file);
    run_pipeline(yaml, services);
    CHECK(outputs_of(run) == whole);
  }
  // Cut off at a line, where every line that is left can be read.
  for (const char* file : {"records/01-load.jsonl", "records/02-filter.jsonl", "records/04-write.jsonl"}) {
    INFO(file);
    const std::string text = whole.at(file);
    std::ofstream(run / file) << text.substr(0, text.find('\n') + 1);
    run_pipeline(yaml, services);
    CHECK(outputs_of(run) == whole);
  }
}

TEST_CASE("step whose file another step or the pipeline itself makes is refused") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 2);
  FakeServices services;
  const auto refused = [&](const std::string& steps, const std::string& why) {
    INFO(steps);
    CHECK_THROWS_MATCHES(run_pipeline(pipeline_of(folder.path(), steps), services), InputError,
                         MessageMatches(ContainsSubstring("file") && ContainsSubstring(why)));
  };
  refused(write_step("a.json") + write_step("b.json") + write_step("b/../a.json"), "step 2 (write) makes");
  for (const char* own : {"state.json", "card.md", "ledger.jsonl", "records/01-load.jsonl", "./card.json"})
    refused(write_step(own), "of the pipeline itself");
  CHECK_FALSE(fs::exists(folder.path() / "run"));
  run_pipeline(pipeline_of(folder.path(), write_step("a.json") + write_step("../card.md")), services);
}

TEST_CASE("data card names the program of every step and the boxes of those that ask them") {
  const TemporaryFolder folder;
  const nlohmann::json answer = {
      {"prompt", "p"}, {"response", "class ModelNew: pass"}, {"pytorch_code", module_named("#")}};
  write_file_atomically(folder.path() / "tasks.json", answer.dump() + "\n");
  FakeServices services;
  services.policy.version = "bicrl 9";
  services.codes.version = "torch 9, reader 8";
  run_pipeline(pipeline_of(folder.path(), "  - {step: check_tasks}\n  - {step: verify}\n"), services);
  const auto versions = nlohmann::json::parse(read_file(folder.path() / "run/card.json"))["versions"];
  for (const char* step : {"1 load", "2 check_tasks", "3 verify"})
    CHECK(versions[step]["program"] == "bicrl 9");
  CHECK(versions["2 check_tasks"]["boxes"] == "torch 9, reader 8");
  CHECK(versions["3 verify"]["verifier"] == "fake verifier");
  CHECK_FALSE(versions["1 load"].contains("boxes"));
  const std::string text = read_file(folder.path() / "run/card.md");
  CHECK_THAT(text, ContainsSubstring("- program: `bicrl 9` (1 load, 2 check_tasks, 3 verify)\n"));
  CHECK_THAT(text, ContainsSubstring("- boxes: `torch 9, reader 8` (2 check_tasks)\n"));
}

}  // namespace
}  // namespace bicrl::curation

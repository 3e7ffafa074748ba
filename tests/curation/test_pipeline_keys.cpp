// Keys of a pipeline's file that are misspelt.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using testing::TemporaryFolder;

TEST_CASE("pipeline file with an unknown step or parameter names the nearest one") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 2);
  FakeServices services;
  CHECK_THROWS_MATCHES(run_pipeline(pipeline_of(folder.path(), "  - {step: fliter}\n"), services), InputError,
                       MessageMatches(ContainsSubstring("filter")));
  CHECK_THROWS_MATCHES(
      run_pipeline(pipeline_of(folder.path(), "  - {step: write, fil: a, file: b, form: pairs}\n"), services),
      InputError, MessageMatches(ContainsSubstring("file")));
  CHECK_THROWS_MATCHES(
      run_pipeline(pipeline_of(folder.path(), "  - {step: check_tasks, refuse: [randum]}\n"), services),
      InputError, MessageMatches(ContainsSubstring("randum")));
  CHECK_FALSE(fs::exists(folder.path() / "run"));
}

TEST_CASE("misspelt key of a list that a step needs is named with the nearest one") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 2);
  FakeServices services;
  const std::string file = (folder.path() / "tasks.json").string();
  for (const auto& [step, key] : {std::pair(concat("load, file: [", file, "]"), "files"),
                                  {concat("decontaminate, againts: [", file, "]"), "against"},
                                  {"filter, condition: [{value: level, at_least: 1}]", "conditions"},
                                  {"label, label: x, value: level, clases: [{name: a, above: 1}]", "classes"},
                                  {"select, bests: [highest level]", "best"}}) {
    INFO(step);
    CHECK_THROWS_MATCHES(
        run_pipeline(pipeline_of(folder.path(), concat("  - {step: ", step, "}\n")), services), InputError,
        MessageMatches(ContainsSubstring("unknown key steps.1.") &&
                       ContainsSubstring(concat("did you mean steps.1.", key, "?")) &&
                       ContainsSubstring(concat("steps.1.", key, ": "))));
  }
  CHECK_FALSE(fs::exists(folder.path() / "run"));
}

}  // namespace
}  // namespace bicrl::curation

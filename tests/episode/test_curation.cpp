// What a run keeps of its tasks: repairs.
#include "episode/curation.h"

#include <catch2/catch_test_macros.hpp>
#include <set>

using namespace bicrl;

TEST_CASE("failed attempt is asked at most once in a step") {
  CurationSettings settings;
  settings.repair.probability = 0.25;
  Curation curation(settings);
  const auto failure = [](const std::string& task) {
    GroupOutcome outcome{.task_id = task, .noted = {}, .failure = std::nullopt};
    outcome.failure = {.task_id = task,
                       .stage = Stage::kEndToEnd,
                       .attempt = {.program = "p", .fault_class = "compile", .diagnostics = ""}};
    return outcome;
  };
  curation.note({failure("a")});
  int asked = 0;
  for (uint64_t key = 0; key < 50; ++key) {
    int in_step = 0;
    for (const auto& repair : curation.repairs(64, Stage::kEndToEnd, key)) in_step += repair.has_value();
    CHECK(in_step <= 1);
    asked += in_step;
  }
  CHECK(asked == 50);  // of 64 groups one draws it, almost surely
  curation.note({failure("b"), failure("c")});
  for (uint64_t key = 0; key < 20; ++key) {
    std::multiset<std::string> tasks;
    for (const auto& repair : curation.repairs(64, Stage::kEndToEnd, key))
      if (repair) tasks.insert(repair->task_id);
    CHECK(tasks == std::multiset<std::string>{"a", "b", "c"});
  }
}

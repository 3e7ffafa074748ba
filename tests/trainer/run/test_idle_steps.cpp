// Steps that teach nothing, and what is said of them.
#include "trainer/run/idle_steps.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("run of idle steps is reported with its commonest outcome, and again when it has doubled") {
  StepFigures idle;
  idle.sums[Sum::kResponses] = 32;
  idle.sums[Sum::kGroups] = 4;
  idle.sums[Sum::kDropped] = 4;
  idle.sums[Sum::kTruncated] = 8;
  idle.fault_classes = {{"compile", 20}, {"wrong_value", 4}};
  IdleSteps steps;
  const auto warnings = [&](int count) {
    std::string last;
    int64_t warned = 0;
    for (int i = 0; i < count; ++i)
      if (std::string text = steps.note(idle); !text.empty()) {
        last = std::move(text);
        ++warned;
      }
    CHECK(warned <= 1);
    return last;
  };
  CHECK(warnings(4).empty());
  CHECK_THAT(warnings(1), ContainsSubstring("no group of the last 5 steps") &&
                              ContainsSubstring("their 160 responses: fault 'compile' (100)"));
  CHECK(warnings(4).empty());
  CHECK_THAT(warnings(1), ContainsSubstring("last 10 steps"));
  StepFigures taught = idle;
  taught.sums[Sum::kDropped] = 3;
  taught.sums[Sum::kInformative] = 1;
  CHECK(steps.note(taught).empty());
  CHECK(warnings(4).empty());
  StepFigures surplus = idle;
  surplus.sums[Sum::kSurplusTaken] = 1;
  CHECK(steps.note(surplus).empty());
  CHECK(warnings(4).empty());
  idle.sums[Sum::kTruncated] = 32;
  idle.fault_classes.clear();
  CHECK_THAT(warnings(1), ContainsSubstring("last 5 steps"));
  steps = {};
  CHECK_THAT(warnings(5), ContainsSubstring("cut off by the token limit (160)"));
  idle.sums[Sum::kTruncated] = 0;
  idle.sums[Sum::kInvalidTask] = 32;
  steps = {};
  CHECK_THAT(warnings(5), ContainsSubstring("of a task that can never be graded (160)"));
  // Groups with equal rewards teach nothing although they are kept in the update.
  idle.sums[Sum::kDropped] = 0;
  idle.sums[Sum::kKept] = 4;
  steps = {};
  CHECK_THAT(warnings(5), ContainsSubstring("last 5 steps"));
}

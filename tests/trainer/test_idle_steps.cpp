// Steps that teach nothing, and what is said of them.
#include "trainer/run/idle_steps.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("run of idle steps is reported with its commonest outcome, and again when it has doubled") {
  ResponseMetrics idle;
  idle.responses = 32;
  idle.groups = 4;
  idle.zero_variance_groups = 3;
  idle.too_few_groups = 1;
  idle.truncated_rate = 0.25;
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
  ResponseMetrics taught = idle;
  taught.zero_variance_groups = 2;
  CHECK(steps.note(taught).empty());
  CHECK(warnings(4).empty());
  idle.truncated_rate = 1;
  idle.fault_classes.clear();
  CHECK_THAT(warnings(1), ContainsSubstring("last 5 steps"));
  steps = {};
  CHECK_THAT(warnings(5), ContainsSubstring("cut off by the token limit (160)"));
}

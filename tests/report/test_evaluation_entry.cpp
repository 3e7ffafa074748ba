#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "common/files/files.h"
#include "report/evaluation_entry.h"
#include "tests/support/support.h"

namespace bicrl::report {
namespace {

using Catch::Approx;

// From statsmodels.stats.proportion.proportion_confint(method="wilson").
TEST_CASE("intervals of shares are Wilson's") {
  const Estimate most = share_estimate(115, 128);
  CHECK(most.value == Approx(0.8984375));
  CHECK(most.low == Approx(0.8340).margin(0.0005));
  CHECK(most.high == Approx(0.9397).margin(0.0005));
  const Estimate none = share_estimate(0, 10);
  CHECK(none.low == Approx(0).margin(1e-12));
  CHECK(none.high == Approx(0.2775).margin(0.0005));
  CHECK(share_estimate(10, 10).high == 1);
  CHECK_FALSE(share_estimate(0, 0).is_known);
}

TEST_CASE("geometric means have the interval of the mean of logarithms") {
  const Estimate speedup = geometric_mean_estimate({1, 2, 4});
  CHECK(speedup.value == Approx(2));
  // ln 2 deviates by ln 2; 1.96 * ln 2 / sqrt(3) = 0.7844.
  CHECK(speedup.low == Approx(2 / 2.1911).epsilon(0.001));
  CHECK(speedup.high == Approx(2 * 2.1911).epsilon(0.001));
  CHECK_FALSE(geometric_mean_estimate({}).is_known);
  CHECK(geometric_mean_estimate({3}).low == Approx(3));
}

TEST_CASE("evaluation counts its responses and leaves damaged lines out") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "warm_up.jsonl";
  write_file_atomically(
      file,
      R"({"task_id":"a","sample":0,"verdict":"correct","compiled":true,"correct":true,"speedup":2.5,"novel":true})"
      "\n"
      R"({"task_id":"b","sample":0,"verdict":"race","compiled":true,"correct":false})"
      "\nnot json\n[1]\n"
      R"({"task_id":"c","verdict":7,"compiled":"yes","correct":true,"speedup":"fast"})"
      "\n"
      R"({"task_id":"d","verd)");
  const EvaluationEntry entry = read_evaluation(file);
  CHECK(entry.responses == 3);
  CHECK(entry.correct == 2);
  CHECK(entry.compiled == 2);
  CHECK(entry.fast_1 == 1);
  CHECK(entry.fast_2 == 1);
  CHECK(entry.novel == 1);
  CHECK(entry.lines.broken == 2);
  CHECK(entry.lines.is_cut_off);
  CHECK(entry.outcomes.at("race") == 1);
}

}  // namespace
}  // namespace bicrl::report

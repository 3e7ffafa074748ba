#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

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
  CHECK(entry.judged == 2);  // not the one without a verdict
  CHECK(entry.correct == 1);
  CHECK(entry.compiled == 2);
  CHECK(entry.fast_1 == 1);
  CHECK(entry.fast_2 == 1);
  CHECK(entry.novel == 1);
  CHECK(entry.lines.broken == 2);
  CHECK(entry.lines.is_cut_off);
  CHECK(entry.outcomes.at("race") == 1);
}

std::string line_of(const std::string& task, int sample, const std::string& verdict, double speedup = 0) {
  nlohmann::json line = {{"task_id", task},
                         {"sample", sample},
                         {"verdict", verdict},
                         {"compiled", verdict != "compile"},
                         {"correct", verdict == "correct"},
                         {"truncated", false}};
  if (speedup > 0) line["speedup"] = speedup;
  return line.dump() + "\n";
}

TEST_CASE("rates of an evaluation are shares of the judged responses, as the run's own") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "end_to_end.jsonl";
  std::string lines;
  for (int i = 0; i < 99; ++i)
    lines += line_of("task_" + std::to_string(i), 0,
                     i < 40   ? "correct"
                     : i < 60 ? "undecided"
                     : i < 61 ? "infrastructure"
                              : "race",
                     i < 40 ? 1.5 : 0);
  lines += line_of("invalid", 0, "invalid_task") + line_of("invalid", 1, "compile");
  write_file_atomically(file, lines);
  const EvaluationEntry entry = read_evaluation(file);
  CHECK(entry.responses == 101);
  CHECK(entry.judged == 78);
  CHECK(entry.correct_rate().value == Approx(40.0 / 78));
  CHECK(entry.compile_rate().value == 1);
  CHECK(entry.fast_1_rate().value == Approx(40.0 / 78));
  CHECK(entry.outcomes.at("undecided") == 20);
}

TEST_CASE("evaluation of several samples counts each task by its best one") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "end_to_end_best_of.jsonl";
  write_file_atomically(file, line_of("a", 0, "correct", 1.5) + line_of("a", 1, "correct", 4) +
                                  line_of("a", 2, "race") + line_of("b", 0, "compile") +
                                  line_of("b", 1, "correct", 0.25) + line_of("c", 0, "race") +
                                  line_of("c", 1, "infrastructure") + line_of("d", 0, "undecided") +
                                  line_of("d", 1, "infrastructure"));
  const EvaluationEntry entry = read_evaluation(file);
  CHECK(entry.responses == 9);
  CHECK(entry.judged == 3);
  CHECK(entry.correct_rate().value == Approx(2.0 / 3));
  CHECK(entry.compile_rate().value == 1);
  CHECK(entry.fast_1_rate().value == Approx(1.0 / 3));
  CHECK(entry.geomean_speedup().value == Approx(1));  // of 4 and 0.25
  CHECK(entry.correct_rate().high == share_estimate(2, 3).high);
}

TEST_CASE("evaluation without times has no share that is faster than eager") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "end_to_end.jsonl";
  write_file_atomically(file, line_of("a", 0, "correct") + line_of("b", 0, "race"));
  const EvaluationEntry entry = read_evaluation(file);
  CHECK(entry.correct_rate().is_known);
  CHECK_FALSE(entry.fast_1_rate().is_known);
  CHECK_FALSE(entry.fast_2_rate().is_known);
  write_file_atomically(file, line_of("a", 0, "correct", 0.5) + line_of("b", 0, "race"));
  CHECK(read_evaluation(file).fast_1_rate().is_known);
}

}  // namespace
}  // namespace bicrl::report

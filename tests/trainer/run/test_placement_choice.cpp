// What `trainer.placement: auto` forecasts from colocated steps, and what it chooses.
#include "trainer/run/layout/placement_choice.h"
#include "trainer/run/layout/placement_trial.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace bicrl;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

// Forwards of 10 s and `each_row_s` for each of 32 rows on average.
ForwardTimes times_of(double each_row_s, int forwards) {
  ForwardTimes times;
  for (int i = 0; i < forwards; ++i) {
    const double rows = i % 2 == 0 ? 24 : 40;
    times.add(rows, 10 + each_row_s * rows);
  }
  return times;
}

// One step of four ranks: eight groups of two responses of 100 forwards each, all at once, 8 rows for each.
MeasuredSteps measured(double each_row_s, double training_s) {
  MeasuredSteps steps{.ranks = 4, .max_active = 16, .training_s = training_s};
  steps.responses.emplace_back();
  for (int64_t group = 0; group < 8; ++group)
    for (int sample = 0; sample < 2; ++sample) steps.responses.front().push_back({group, 100});
  steps.times = times_of(each_row_s, 4 * 100);
  steps.generation_s = 1000;
  steps.step_s = steps.generation_s + training_s;
  return steps;
}

// With memory for all sequences, and updates of the measured form.
PossibleSplit split_of(int generators) { return {.generators = generators, .max_active = 16}; }
const std::vector<PossibleSplit> kAll = {split_of(1), split_of(2), split_of(3)};

}  // namespace

TEST_CASE("steps that were generated before a resume do not decide") {
  PlacementTrial trial(kAll, 16);
  const auto note = [&](double rollout_s) {
    StepMetrics metrics;
    metrics.responses = StepFigures{};
    metrics.seconds = {.rollout = rollout_s, .train = 1, .step = rollout_s + 1};
    trial.note(metrics, {});
    return trial.is_complete();
  };
  CHECK_FALSE(note(0));
  CHECK_FALSE(note(0));
  CHECK_FALSE(note(3));
  CHECK_FALSE(note(3));
  CHECK(note(3));
}

TEST_CASE("seconds of forwards are a line of their rows, without a term below zero") {
  const ForwardTimes::Line line = times_of(0.5, 40).line();
  CHECK(line.fixed_s == Approx(10));
  CHECK(line.each_row_s == Approx(0.5));
  ForwardTimes same;
  for (int i = 0; i < 3; ++i) same.add(8, 2);
  CHECK(same.line().fixed_s == Approx(2));
  CHECK(same.line().each_row_s == 0);
  ForwardTimes falling;
  falling.add(1, 9);
  falling.add(9, 1);
  CHECK(falling.line().each_row_s == 0);
  CHECK(falling.line().fixed_s == Approx(5));
  ForwardTimes steep;  // the line would begin below zero
  steep.add(1, 0);
  steep.add(9, 100);
  CHECK(steep.line().fixed_s == Approx(0));
  CHECK(ForwardTimes().line().seconds(5) == 0);
}

TEST_CASE("generation ends with the slowest rank, whose sequences wait for a place") {
  const ForwardTimes::Line line{.fixed_s = 1, .each_row_s = 0.1};
  const std::vector<ResponseForwards> responses = {{0, 10}, {0, 30}, {1, 5}, {1, 5}};
  // Two at a time on one rank: 10 forwards of both, then 5 and 5 beside the long one, then 10 of it alone.
  CHECK(generation_seconds(responses, 1, 2, line, 1) == Approx(20 * 1.2 + 10 * 1.1));
  CHECK(generation_seconds(responses, 2, 2, line, 1) == Approx(10 * 1.2 + 20 * 1.1));
  CHECK(generation_seconds(responses, 1, 4, line, 1) == Approx(5 * 1.4 + 5 * 1.2 + 20 * 1.1));
  CHECK(generation_seconds({}, 3, 4, line, 1) == 0);
}

TEST_CASE("a split is chosen where generation hardly depends on the number of ranks, and overlaps") {
  // Forwards take as long with all sequences as with a quarter.
  const MeasuredSteps flat = measured(/*each_row_s=*/0, /*training_s=*/900);
  const PlacementForecast one = forecast(flat, split_of(1));
  CHECK(one.generation_s == Approx(1000));
  CHECK(one.training_s == Approx(1200));
  CHECK(one.step_s == Approx(1200));
  const PlacementChoice choice = choose_placement(flat, kAll);
  CHECK(choice.chosen.generators == 1);
  CHECK_THAT(choice.reason(flat), ContainsSubstring("split with 1 that generate: forecast 1200.00 s") &&
                                      ContainsSubstring("measured 1900.00 s"));
  // What an update does not hide counts beside it.
  MeasuredSteps waiting = flat;
  waiting.verdicts_s = 500;
  waiting.step_s += 500 + 7;
  CHECK(forecast(waiting, split_of(1)).step_s == Approx(1500 + 7));
  // The forecast goes by what was measured, where forwards alone would take less.
  MeasuredSteps slower = flat;
  slower.generation_s = 2000;
  CHECK(forecast(slower, split_of(1)).generation_s == Approx(2000));
  // Memory for none of them.
  const PlacementChoice none = choose_placement(flat, {});
  CHECK(none.chosen.generators == 0);
  CHECK_THAT(none.reason(flat), ContainsSubstring("in no other placement"));
}

TEST_CASE("ranks stay together where generation takes as long as it has rows, or nothing is gained") {
  const MeasuredSteps steep = measured(/*each_row_s=*/100, /*training_s=*/900);
  const PlacementChoice choice = choose_placement(steep, kAll);
  CHECK(choice.chosen.generators == 0);
  CHECK_THAT(choice.reason(steep),
             ContainsSubstring("colocated: measured 1900.00 s") && ContainsSubstring("forecast at best"));
  // An update of a tenth of the generation: 1,000 s for 1,033 is within the error of a forecast.
  CHECK(choose_placement(measured(0, 33), kAll).chosen.generators == 0);
  CHECK(choose_placement(measured(0, 100), kAll).chosen.generators > 0);
}

TEST_CASE(
    "a forecast counts the split's own form: costlier updates, and room for other numbers of sequences") {
  const MeasuredSteps flat = measured(/*each_row_s=*/0, /*training_s=*/900);
  PossibleSplit split = split_of(1);
  split.training_cost = 1.5;
  CHECK(forecast(flat, split).training_s == Approx(1800));
  // Sixteen responses on one rank, half of them at a time.
  split.max_active = 8;
  CHECK(forecast(flat, split).generation_s == Approx(2000));
}

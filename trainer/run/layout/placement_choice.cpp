#include "trainer/run/layout/placement_choice.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <queue>

#include "common/error.h"

namespace bicrl {
namespace {

// The first steps differ from later ones, and a forecast leaves out what ranks do to each other.
constexpr double kLeastGain = 1.05;

std::string seconds_text(double seconds) {
  char text[32];
  snprintf(text, sizeof text, "%.2f s", seconds);
  return text;
}

// Of one rank that generates these in their order.
double seconds_of_rank(const std::vector<int64_t>& forwards, int64_t max_active,
                       const ForwardTimes::Line& line, double rows_of_sequence) {
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ends;  // of sequences at work
  int64_t now = 0;                                                          // in forwards
  double seconds = 0;
  size_t next = 0;
  while (next < forwards.size() || !ends.empty()) {
    while (next < forwards.size() && static_cast<int64_t>(ends.size()) < max_active)
      ends.push(now + forwards[next++]);
    const int64_t end = ends.top();
    seconds +=
        static_cast<double>(end - now) * line.seconds(rows_of_sequence * static_cast<double>(ends.size()));
    now = end;
    while (!ends.empty() && ends.top() == now) ends.pop();
  }
  return seconds;
}

double mean_generation(const MeasuredSteps& measured, int ranks, int64_t max_active) {
  double forwards = 0, seconds = 0;
  for (const auto& step : measured.responses)
    for (const ResponseForwards& response : step) forwards += static_cast<double>(response.forwards);
  if (forwards == 0) return 0;
  for (const auto& step : measured.responses)
    seconds +=
        generation_seconds(step, ranks, max_active, measured.times.line(), measured.times.rows / forwards);
  return seconds / static_cast<double>(measured.responses.size());
}

}  // namespace

double generation_seconds(const std::vector<ResponseForwards>& responses, int ranks, int64_t max_active,
                          const ForwardTimes::Line& line, double rows_of_sequence) {
  std::vector<std::vector<int64_t>> of_rank(static_cast<size_t>(ranks));
  for (const ResponseForwards& response : responses)
    of_rank[static_cast<size_t>(response.group % ranks)].push_back(response.forwards);
  double slowest = 0;
  for (const std::vector<int64_t>& forwards : of_rank)
    slowest = std::max(slowest, seconds_of_rank(forwards, max_active, line, rows_of_sequence));
  return slowest;
}

PlacementForecast forecast(const MeasuredSteps& measured, const PossibleSplit& split) {
  const int trainers = measured.ranks - split.generators;
  BICRL_CHECK(split.generators > 0 && trainers > 0, split.generators);
  const double simulated = mean_generation(measured, measured.ranks, measured.max_active);
  const double not_simulated = simulated > 0 ? measured.generation_s / simulated : 1;
  const double other_s =
      std::max(0.0, measured.step_s - measured.generation_s - measured.verdicts_s - measured.training_s);
  PlacementForecast expected{.generators = split.generators};
  expected.generation_s = not_simulated * mean_generation(measured, split.generators, split.max_active);
  expected.training_s = measured.training_s * split.training_cost * measured.ranks / trainers;
  expected.step_s = std::max(expected.generation_s + measured.verdicts_s, expected.training_s) + other_s;
  return expected;
}

PlacementChoice choose_placement(const MeasuredSteps& measured, const std::vector<PossibleSplit>& possible) {
  PlacementChoice choice;
  choice.colocated = {
      .generation_s = measured.generation_s, .training_s = measured.training_s, .step_s = measured.step_s};
  choice.chosen = choice.colocated;
  for (const PossibleSplit& split : possible) {
    const PlacementForecast expected = forecast(measured, split);
    if (choice.best_split.generators == 0 || expected.step_s < choice.best_split.step_s)
      choice.best_split = expected;
  }
  if (choice.best_split.generators > 0 && choice.best_split.step_s * kLeastGain < measured.step_s)
    choice.chosen = choice.best_split;
  return choice;
}

std::string PlacementChoice::reason(const MeasuredSteps& measured) const {
  const std::string together = concat(
      seconds_text(colocated.step_s), " a step (generation ", seconds_text(colocated.generation_s),
      ", verdicts ", seconds_text(measured.verdicts_s), ", update ", seconds_text(colocated.training_s), ")");
  if (best_split.generators == 0)
    return concat("colocated: in no other placement of ", measured.ranks, " ranks the memory suffices; ",
                  together);
  const std::string split =
      concat(seconds_text(best_split.step_s), " with ", best_split.generators, " of ", measured.ranks,
             " ranks generating (generation ", seconds_text(best_split.generation_s), " beside an update of ",
             seconds_text(best_split.training_s), ")");
  if (chosen.generators > 0)
    return concat("split with ", chosen.generators, " that generate: forecast ", split, ", measured ",
                  together, " colocated");
  return concat("colocated: measured ", together, ", forecast at best ", split);
}

}  // namespace bicrl

// Choice of the placement under `trainer.placement: auto`. It forecasts the time of a step with each number
// of ranks that only generate, from the times of the first steps with ranks that do both. Pure functions;
// thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/experience/generation_record.h"

namespace bicrl {

// Colocated steps, over all ranks.
struct MeasuredSteps {
  int ranks = 1;
  int64_t max_active = 1;                                  // sequences at a time on a rank
  std::vector<std::vector<ResponseForwards>> responses{};  // by step, in the order of groups and samples
  ForwardTimes times{};
  // Of a step on average, each by the slowest rank:
  double generation_s = 0;
  double verdicts_s = 0;  // waited for behind the last response
  double training_s = 0;
  double step_s = 0;
};

// A split for which the memory suffices.
struct PossibleSplit {
  int generators = 1;
  int64_t max_active = 1;    // sequences at a time on a rank that generates
  double training_cost = 1;  // how much longer an update takes than by as many ranks in the measured form
};

struct PlacementForecast {
  int generators = 0;  // 0: colocated
  double generation_s = 0, training_s = 0;
  double step_s = 0;  // with a step generated while the one before it is trained, if there are generators
};

struct PlacementChoice {
  PlacementForecast chosen, colocated, best_split;
  // Why, for a person, with the forecasts.
  std::string reason(const MeasuredSteps& measured) const;
};

// Forwards of an engine take as long as their line says, sequences begin in the order of their groups, and an
// update takes longer the fewer its ranks are, and by the cost of its form. What that leaves out is taken
// from the measured generation.
PlacementForecast forecast(const MeasuredSteps& measured, const PossibleSplit& split);

// A split is chosen if it is faster by more than the forecast can be trusted for.
PlacementChoice choose_placement(const MeasuredSteps& measured, const std::vector<PossibleSplit>& possible);

// Seconds until the slowest of so many ranks has generated its share of these responses: groups are dealt out
// in turn, and `rows_of_sequence` rows of a forward belong to each sequence at work.
double generation_seconds(const std::vector<ResponseForwards>& responses, int ranks, int64_t max_active,
                          const ForwardTimes::Line& line, double rows_of_sequence);

}  // namespace bicrl

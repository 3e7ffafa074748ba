// Choice of a run's best checkpoint: by one figure of its held-out evaluations. Plain values and pure
// functions; thread-safe.
#pragma once
#include <string>
#include <vector>

#include "common/config/config.h"
#include "trainer/evaluation/evaluation.h"

namespace bicrl {

enum class BestMetric {
  kReward,   // the mean reward of the run's reward file
  kCorrect,  // the share of correct programs
  kFast1,    // the share that is correct and faster than eager PyTorch
  kSpeedup,  // the geometric mean of the correct programs' speed-ups
  kNone      // the newest is the best
};
std::string to_string(BestMetric metric);

// Key `metric` of `run.keep_best`. The reward, unless the run rewards nothing: then correctness.
// `root` is the whole document, whose overrides may have taken the stages away.
BestMetric best_metric_from(const ConfigSection& section, bool rewards, const ConfigSection& root);

// An evaluation's figure with its uncertainty.
struct MetricValue {
  double value = 0;
  // Half of a 95 % interval: of a mean from the spread over tasks, of a share by the normal approximation. In
  // the unit of the value; of a speed-up relative to it.
  double half_width = 0;
  int64_t tasks = 0;  // that it is over
};
MetricValue metric_of(const EvaluationResult& result, BestMetric metric);

// The best evaluation of a checkpoint among those that compare with the last one: of rewards, those by the
// same reward file. Of equal ones the first. Null if there is none. Refers to `results`.
const EvaluationResult* best_of_all(const std::vector<EvaluationResult>& results, BestMetric metric);

// "reward 2.413 +-0.210 on 128 held-out tasks"
std::string metric_text(const EvaluationResult& result, BestMetric metric);

}  // namespace bicrl

#include "trainer/run/layout/placement_trial.h"

#include <algorithm>
#include <utility>

namespace bicrl {

void PlacementTrial::note(const StepMetrics& metrics, GenerationRecord own) {
  // A step that was generated before the run was resumed does not show how long generation takes.
  if (is_complete() || !metrics.responses || metrics.seconds.rollout == 0) return;
  if (++steps_ <= kNotCounted) return;
  seconds_.rollout += metrics.seconds.rollout;
  seconds_.verify_wait += metrics.seconds.verify_wait;
  seconds_.train += metrics.seconds.train;
  seconds_.step += metrics.seconds.step;
  own_.push_back(std::move(own));
}

PlacementTrial::Decision PlacementTrial::decide(ControlPlane& control) const {
  BICRL_CHECK(is_complete(), steps_, " steps");
  constexpr double kCounted = kSteps - kNotCounted;
  MeasuredSteps measured{.ranks = control.size(),
                         .max_active = max_active_,
                         .generation_s = seconds_.rollout / kCounted,
                         .verdicts_s = seconds_.verify_wait / kCounted,
                         .training_s = seconds_.train / kCounted,
                         .step_s = seconds_.step / kCounted};
  for (const GenerationRecord& own : own_) {
    std::vector<ResponseForwards>& step = measured.responses.emplace_back();
    for (const auto& rank : all_gather_lists(control, own.responses))
      step.insert(step.end(), rank.begin(), rank.end());
    std::ranges::stable_sort(step, {}, &ResponseForwards::group);
    for (const ForwardTimes& times : all_gather_values(control, own.times)) measured.times += times;
  }
  const PlacementChoice choice = choose_placement(measured, possible_);
  return {.generators = choice.chosen.generators, .reason = choice.reason(measured)};
}

}  // namespace bicrl

// The colocated steps by which `trainer.placement: auto` is decided: notes what each of them took, and
// decides once there are enough. One object per rank; not thread-safe.
#pragma once
#include <optional>
#include <vector>

#include "trainer/ranks/control_plane.h"
#include "trainer/run/layout/placement_choice.h"
#include "trainer/run/reports/step_metrics.h"

namespace bicrl {

class PlacementTrial {
 public:
  // `possible`: as in choose_placement(). `max_active`: of a colocated rank.
  PlacementTrial(std::vector<PossibleSplit> possible, int64_t max_active)
      : possible_(std::move(possible)), max_active_(max_active) {}

  // A step of reinforcement: its figures are those of all ranks, the record is this rank's.
  void note(const StepMetrics& metrics, GenerationRecord own);
  bool is_complete() const { return steps_ == kSteps; }

  struct Decision {
    int generators = 0;  // 0: colocated
    std::string reason;
  };
  // Collective, once it is complete: the same on all ranks.
  Decision decide(ControlPlane& control) const;

 private:
  // The first step also pays for what a run does once.
  static constexpr int64_t kSteps = 3, kNotCounted = 1;

  std::vector<PossibleSplit> possible_;
  int64_t max_active_;
  int64_t steps_ = 0;
  StepSeconds seconds_;                // sums of the slowest rank's, over steps that count
  std::vector<GenerationRecord> own_;  // of each of them
};

}  // namespace bicrl

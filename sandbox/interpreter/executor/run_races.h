// Finds the races of one run, and whether they can change its result. Owned by the run's maker.
#pragma once
#include <functional>
#include <optional>

#include "sandbox/interpreter/executor/execution.h"
#include "sandbox/interpreter/races/race_detector.h"

namespace bicrl {

// Looks for races in the run that it observes.
class RunRaces {
 public:
  ptx::Observer* observer() { return &detector_; }
  bool any() const { return !detector_.races().empty(); }

  // What is wrong if races of the run can be seen: `again` makes the same run once more under that observer
  // and gives the fault that it ends in, outputs included. `run`: the one that was observed.
  std::optional<ptx::KernelFault> fault(
      const Execution& run,
      const std::function<std::optional<ptx::KernelFault>(ptx::Observer*)>& again) const;

  // The race that is to blame if the run ended because it read what was never written: where what raced
  // counts as written, `again` ends without a fault. Which of two threads comes first is chance, and a
  // verdict should not be.
  std::optional<ptx::KernelFault> behind_uninitialised(
      const Execution& run,
      const std::function<std::optional<ptx::KernelFault>(ptx::Observer*)>& again) const;

 private:
  ptx::KernelFault to_fault(const Execution& run) const;

  races::RaceDetector detector_;
};

}  // namespace bicrl

// The horizontal axis of all curves: the phases of a run beside each other. A phase of a thousand short steps
// must not leave others without room, so widths grow more slowly than numbers of steps. Plain values.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "report/step_table.h"

namespace bicrl::report {

class RunAxis {
 public:
  struct Phase {
    std::string name{};
    int64_t steps = 0;
    double begin = 0, end = 0;  // of 0 to 1
  };

  // Phases of all runs by name. A phase that the first runs lack lies behind those that come before it in its
  // run.
  explicit RunAxis(const std::vector<const StepTable*>& runs);
  // The same with these phases alone, in the same order.
  RunAxis of_phases(const std::vector<std::string>& names) const;

  const std::vector<Phase>& phases() const { return phases_; }
  // Where the middle of a step lies (1-based), and where a step ends. Of phases that are not on the axis: the
  // beginning of what follows them.
  double middle_of(const std::string& phase, int64_t step) const;
  double end_of(const std::string& phase, int64_t step) const;

 private:
  explicit RunAxis(std::vector<Phase> phases);
  double place(const std::string& phase, double steps) const;
  std::vector<Phase> phases_;
  std::vector<std::string> order_;  // of all phases, for those that are not shown
};

}  // namespace bicrl::report

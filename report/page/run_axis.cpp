#include "report/page/run_axis.h"

#include <algorithm>
#include <cmath>

namespace bicrl::report {
namespace {

constexpr double kWidthPower = 0.4;

}  // namespace

RunAxis::RunAxis(const std::vector<const StepTable*>& runs)
    : RunAxis([&] {
        std::vector<Phase> phases;
        for (const StepTable* run : runs) {
          size_t next = 0;  // behind the phase of this run that was met last
          for (const PhaseSpan& span : run->phases) {
            // Of a run in progress, what it has done: an empty half of a picture says nothing.
            const int64_t last = run->step[static_cast<size_t>(span.end - 1)];
            auto phase = std::ranges::find(phases, span.name, &Phase::name);
            if (phase == phases.end())
              phase = phases.insert(phases.begin() + static_cast<ptrdiff_t>(next),
                                    {.name = span.name, .steps = last});
            phase->steps = std::max(phase->steps, last);
            next = static_cast<size_t>(phase - phases.begin()) + 1;
          }
        }
        return phases;
      }()) {}

RunAxis::RunAxis(std::vector<Phase> phases) : phases_(std::move(phases)) {
  double total = 0;
  for (const Phase& phase : phases_)
    total += std::pow(static_cast<double>(std::max<int64_t>(phase.steps, 1)), kWidthPower);
  double at = 0;
  for (Phase& phase : phases_) {
    phase.begin = at;
    at += std::pow(static_cast<double>(std::max<int64_t>(phase.steps, 1)), kWidthPower) / total;
    phase.end = at;
    order_.push_back(phase.name);
  }
}

RunAxis RunAxis::of_phases(const std::vector<std::string>& names) const {
  std::vector<Phase> shown;
  for (const Phase& phase : phases_)
    if (std::ranges::find(names, phase.name) != names.end())
      shown.push_back({.name = phase.name, .steps = phase.steps});
  RunAxis axis(std::move(shown));
  axis.order_ = order_;
  return axis;
}

double RunAxis::place(const std::string& phase, double steps) const {
  const auto shown = std::ranges::find(phases_, phase, &Phase::name);
  if (shown != phases_.end()) {
    const double share =
        std::clamp(steps / static_cast<double>(std::max<int64_t>(shown->steps, 1)), 0.0, 1.0);
    return shown->begin + share * (shown->end - shown->begin);
  }
  for (auto next = std::ranges::find(order_, phase); next != order_.end(); ++next)
    if (const auto found = std::ranges::find(phases_, *next, &Phase::name); found != phases_.end())
      return found->begin;
  return std::ranges::find(order_, phase) == order_.end() ? 0 : 1;
}

double RunAxis::middle_of(const std::string& phase, int64_t step) const {
  return place(phase, static_cast<double>(step) - 0.5);
}
double RunAxis::end_of(const std::string& phase, int64_t step) const {
  return place(phase, static_cast<double>(step));
}

}  // namespace bicrl::report

#include "trainer/run/run_progress.h"

namespace bicrl {

int64_t RunProgress::run_step() const {
  int64_t steps = state.step;
  for (int64_t i = 0; i < state.phase; ++i) steps += phases[static_cast<size_t>(i)]->steps();
  return steps;
}

std::string RunProgress::last_phase() const {
  for (auto phase = phases.rbegin(); phase != phases.rend(); ++phase)
    if ((*phase)->steps() > 0) return (*phase)->name();
  return {};
}

}  // namespace bicrl

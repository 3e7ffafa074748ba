// Progress of a run: its state, its phases, and the time of the one in progress. Shared by the classes that
// step, evaluate and save. Not thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "trainer/run/checkpoints/run_state.h"
#include "trainer/run/phases/phase.h"

namespace bicrl {

struct RunProgress {
  RunState state;
  std::vector<std::unique_ptr<Phase>> phases;
  Stopwatch in_phase;         // since it began, or since the run went on within it
  double seconds_before = 0;  // in this phase, before the run went on

  bool has_ended() const { return state.phase >= static_cast<int64_t>(phases.size()); }
  Phase& phase() const { return *phases.at(static_cast<size_t>(state.phase)); }  // in progress
  int64_t run_step() const;                                                      // steps done over all phases
  double seconds_in_phase() const { return seconds_before + in_phase.seconds(); }
  std::string last_phase() const;  // that takes a step; empty if none does
};

}  // namespace bicrl

// Settings of a run's layout over ranks and memory, as its file says. Plain values; thread-safe.
#pragma once
#include <cstdint>
#include <optional>

#include "common/config/config.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/heartbeat.h"
#include "trainer/ranks/placement.h"
#include "trainer/update/memory/training_memory.h"
#include "trainer/update/sharding.h"

namespace bicrl {

// None of it changes what updates compute, beyond rounding.
struct TrainerSettings {
  // Of a split run: the last ranks, which generate and do not train; 0: colocated.
  int64_t generator_ranks = 0;
  bool chooses_placement = false;  // the first steps, which are colocated, decide (placement_choice.h)
  // Steps that are generated ahead of the one that is trained, with older weights; split runs alone do so.
  int64_t max_staleness = 0;
  // None: what memory_plan.h chooses.
  std::optional<Sharding> sharding;
  std::optional<Recompute> recompute;
  bool deterministic = false;                        // operations on GPUs, too (trainer/run/determinism.h)
  double wait_limit_s = ControlPlane::kWaitLimit_s;  // for each other, before a run ends
  double heartbeat_limit_s = Heartbeat::kLimit_s;    // without a sign of life; 0: nobody listens for one

  static TrainerSettings from_config(const ConfigSection& section);
  // Of a run of so many ranks. Throws InputError if none is left to train.
  Placement placement(int ranks) const;
};

}  // namespace bicrl

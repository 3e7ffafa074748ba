// Experiences move between ranks before an update, so that no rank waits for the one with the longest
// responses. What a minibatch holds stays the same; sums come in another order.
#pragma once
#include <cstdint>
#include <vector>

#include "rollout/rollout.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/update/packing/minibatch.h"

namespace bicrl {

struct BalancedStep {
  std::vector<Experience> experiences;  // that this rank trains, by group and sample
  StepKeys keys;                        // of those of all ranks
};

// Collective: experiences go where balanced_ranks() says. `keys`: of all ranks, this one's as `mine`.
BalancedStep balance(const std::vector<Experience>& mine, const StepKeys& keys, int64_t responses_per_update,
                     uint64_t key, const RowCost& cost, ControlPlane& control);

}  // namespace bicrl

// How the experiences of a split run come from the ranks that generated them to those that train: with texts
// and verdicts for the log of the rank that writes it.
#pragma once
#include <cstdint>
#include <vector>

#include "rollout/rollout.h"
#include "trainer/experience/response_entry.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/placement.h"

namespace bicrl {

// Of the groups that this rank trains: in the order of groups, within a group of samples. The same that the
// rank would hold if it had generated them itself; empty on ranks that only generate.
struct HandedOver {
  std::vector<Experience> experiences;
  std::vector<ResponseEntry> entries;  // whole
};

// Collective, once a step. `experiences` and `entries` are of the groups that this rank has generated;
// numbers keep their bits.
HandedOver hand_over(const std::vector<Experience>& experiences, const std::vector<ResponseEntry>& entries,
                     const Placement& placement, ControlPlane& control);

// Throws Error naming the group if an experience was made by a version of the policy outside [oldest,
// newest].
void require_versions(const std::vector<Experience>& experiences, int64_t oldest, int64_t newest);

}  // namespace bicrl

// Exchange of a split run's episodes: from the ranks that generated them to those that train.
#pragma once
#include <cstdint>
#include <vector>

#include "episode/episode.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/placement.h"

namespace bicrl {

// Collective, once a step: of the episodes that each rank generated those of the groups that this rank
// trains, by group and sample; without tokens if they do not count in the update. Numbers keep their bits.
// Empty on ranks that only generate.
std::vector<Episode> hand_over(const std::vector<Episode>& generated, const Placement& placement,
                               ControlPlane& control);

// Throws Error naming the group if an experience was made by a version of the policy outside [oldest,
// newest].
void require_versions(const std::vector<Experience>& experiences, int64_t oldest, int64_t newest);

}  // namespace bicrl

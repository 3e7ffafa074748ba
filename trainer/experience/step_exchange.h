// The exchange between ranks of a step's responses, once a round: each rank's report, which all need before
// another round or the update.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "episode/group_scorer.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/update/packing/minibatch.h"

namespace bicrl {

// One rank's part.
struct RankStepReport {
  std::string error;         // of error_of(), if the rank could not do its part
  bool interrupted = false;  // a stop left responses without their verdict
  std::string ledger_lines;  // VerdictLedger::unshared()
  StepSums sums;             // of what is not counted by group: whole numbers
  std::vector<GroupReport> groups;
  std::vector<Episode> log;  // its episodes without tokens; other ranks get them as kLog has them
  std::vector<ExperienceKey> experiences;
};

// Collective: the parts of all ranks, by rank; entry [rank] of the caller is `mine` itself. Throws the first
// rank's error as a SharedError on every rank.
std::vector<RankStepReport> exchange(RankStepReport mine, ControlPlane& control);

// Adds what a rank reports of a step's next round to what it reported before.
void append(RankStepReport& report, RankStepReport next);

// The groups of all ranks, in their order.
std::vector<const GroupReport*> groups_in_order(const std::vector<RankStepReport>& ranks);

StepFigures figures_of(const std::vector<RankStepReport>& ranks);

}  // namespace bicrl

// What ranks tell each other of a step's responses, in one exchange: whatever a rank needs to know of the
// others before it takes part in the update.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "episode/episode.h"
#include "episode/figures.h"
#include "tasks/curriculum.h"
#include "trainer/experience/curation.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/update/minibatch.h"

namespace bicrl {

// Of one group. What is not a whole number is added up in the order of groups, and outcomes are told in it,
// so that a step's figures and what follows from them do not depend on which rank had which group.
struct GroupReport {
  int64_t group = 0;
  StepSums sums;
  std::string infrastructure_reason;           // of one response
  std::map<std::string, double> reward_terms;  // sums
  std::optional<TaskOutcome> task_outcome;     // of its task
  std::optional<GroupOutcome> group_outcome;   // as far as it matters to curation
};

// One rank's part.
struct RankStepReport {
  std::string error;         // of error_of(), if the rank could not do its part
  bool interrupted = false;  // a stop left responses without their verdict
  std::string ledger_lines;  // VerdictLedger::unshared()
  StepSums sums;             // of what is not counted by group: whole numbers
  std::vector<GroupReport> groups;
  std::vector<std::string> program_hashes;  // with their tasks
  std::map<std::string, int64_t> fault_classes;
  std::vector<Episode> log;  // its episodes without tokens; other ranks get them as kLog has them
  std::vector<ExperienceShare> experiences;
};

// Collective: the parts of all ranks, by rank; entry [rank] of the caller is `mine` itself. Throws the first
// rank's error as a SharedError on every rank.
std::vector<RankStepReport> exchange(RankStepReport mine, ControlPlane& control);

// The groups of all ranks, in their order.
std::vector<const GroupReport*> groups_in_order(const std::vector<RankStepReport>& ranks);

StepFigures figures_of(const std::vector<RankStepReport>& ranks);

}  // namespace bicrl

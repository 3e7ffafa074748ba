// The surplus of a step with refill (episode/refill.h): informative groups beyond those that its update
// takes. They wait for the update of the next step, one version of the policy older than it. All ranks know
// which responses they are; the rank that trains them holds their tokens. The rank that generated them saves
// these in RUN/rollouts/PHASE-surplus-STEP, since the weights that made them are gone when a run goes on.
// Rewards and advantages are kept as they were: quarantine may see the same responses otherwise a step
// later. Groups of equal rewards that are kept (reward/advantage.h) never wait: they stay in the update of
// their own step. One object per phase and rank; not thread-safe.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "episode/refill.h"
#include "trainer/experience/experience_collector.h"
#include "trainer/experience/rollout_store.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/placement.h"

namespace bicrl {

class Surplus {
 public:
  // Refers to `control`, of all ranks.
  Surplus(const RolloutStore& store, const std::string& phase, ControlPlane& control,
          const Placement& placement)
      : store_(store), name_(phase + "-surplus"), control_(control), placement_(placement) {}

  int64_t groups() const;
  int64_t policy_version() const { return policy_version_; }  // that made them

  // Collective, once a step, before its update: leaves in `collected` what the update takes, groups of the
  // step before first, and keeps what is left for the step behind it, unless `is_last`. Counts in its
  // figures. Throws SharedError if a rank cannot save or read.
  void settle(const RefillSettings& settings, CollectedStep& collected, int64_t step, int64_t policy_version,
              bool is_last);

  // Part of a phase's state; null if there is none. Throws what nlohmann::json throws.
  nlohmann::json state() const;
  void restore(const nlohmann::json& state);
  // What the latest update took of the step before stays in the store, for good; that step's number, 0 if it
  // took nothing.
  int64_t keep_taken() const;
  // Phase::keep_for_checkpoints().
  void keep_for_checkpoints(const std::set<int64_t>& steps) const;

 private:
  struct Member {
    ExperienceKey key;
    double reward = 0;
    double advantage = 0;
  };

  // Of all ranks by group and sample, and those of them that this rank trains.
  struct Waiting {
    std::vector<Member> members{};
    // None if the run goes on from a checkpoint: they are read when they are needed.
    std::optional<std::vector<Experience>> experiences = std::vector<Experience>();
  };

  std::set<int64_t> numbers() const;  // of the groups that wait
  void load();
  // Moves informative groups behind the first `groups` of them out of `collected`.
  static Waiting left_over(int64_t groups, CollectedStep& collected);
  // The first `groups` groups that wait, to the front of `collected`.
  void take(int64_t groups, CollectedStep& collected) const;
  void save(const std::vector<Episode>& generated) const;

  RolloutStore store_;
  std::string name_;
  ControlPlane& control_;
  Placement placement_;
  int64_t step_ = 0;
  int64_t policy_version_ = 0;
  int64_t taken_from_ = 0;  // the step of which the latest update took groups; 0: of none
  Waiting waiting_;
};

}  // namespace bicrl

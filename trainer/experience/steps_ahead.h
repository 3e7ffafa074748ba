// Steps that are generated up to max_staleness steps before they are trained (trainer.max_staleness). Step k
// has the weights that step k - max_staleness began with, the first steps those that the phase, or the run
// after a change of its placement, began with. So the sampler is never further ahead, and nothing
// that it made is too old to be trained. Steps are taken in their order. One object per phase and rank, with
// equal numbers on each; not thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trainer/experience/experience_collector.h"

namespace bicrl {

struct GeneratedAhead {
  int64_t step = 0;
  int64_t policy_version = 0;  // that generated it
  double generated_tokens = 0;
  double forwards = 0;
  // Of all its responses, by group and sample: the ledger's key of the verdict that counts. By the time the
  // step is trained, quarantine may decide otherwise which successes are verified a second time. Empty if a
  // stop left verdicts missing.
  std::vector<std::string> verdict_keys;
  // None if verdicts are missing, or the run goes on from a checkpoint: it is made from the saved rollouts
  // then.
  std::optional<CollectedStep> collected;
};

class StepsAhead {
 public:
  explicit StepsAhead(int64_t max_staleness) : max_staleness_(max_staleness) {}

  bool empty() const { return steps_.empty(); }
  int64_t next_version() const { return steps_.front().policy_version; }  // that generated the next step
  // The steps, of `last` in all, that are generated with the weights that `step` began with, beside its
  // update.
  std::vector<int64_t> due(int64_t step, int64_t last) const;
  // In the order of steps. Rollouts are saved; what is interrupted is collected again.
  void add(int64_t step, int64_t policy_version, CollectedStep collected);
  // The next step, or one that a stop interrupted. `collect` makes a step from its saved rollouts.
  using Collect = std::function<CollectedStep(const GeneratedAhead&)>;
  CollectedStep take(const Collect& collect);

  // Part of a phase's state; null if there is none.
  nlohmann::json state() const;
  void restore(const nlohmann::json& state);  // throws what nlohmann::json throws
  // Steps whose saved rollouts neither a checkpoint, made after one of these steps, nor what is still to be
  // trained needs. Each is named once.
  std::vector<int64_t> unneeded(const std::set<int64_t>& checkpoints);

 private:
  int64_t max_staleness_;
  std::deque<GeneratedAhead> steps_;
  std::set<int64_t> saved_;
};

}  // namespace bicrl

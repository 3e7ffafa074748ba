// Curation state that a run keeps from step to step: successes to confirm, failures that come back as
// prompts, responses worth imitating, and invalid tasks. Invalid tasks can never be graded and are left out
// from then on. All ranks hold equal contents, because all of them note every rank's outcomes in the same
// order. Not thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "episode/refill.h"
#include "reward/best_responses.h"
#include "reward/quarantine.h"
#include "reward/repair_buffer.h"

namespace bicrl {

struct CurationSettings {
  QuarantineSettings quarantine;
  RepairSettings repair;
  RefillSettings refill;

  // Sections quarantine, repair and refill.
  static CurationSettings from_config(const ConfigSection& section);
};

// How one group ended, as far as curation is concerned.
struct GroupOutcome {
  std::string task_id;
  struct Success {
    std::string program;
    Verdict verdict;
  };
  std::vector<Success> noted;  // successes, and successes that were not confirmed
  std::optional<RepairEntry> failure;
  std::string invalid_task{};           // why the verifier can never grade the task; empty if it can
  std::optional<GroupReward> reward{};  // of a stage that imitates

  bool empty() const { return noted.empty() && !failure && invalid_task.empty() && !reward; }
};
nlohmann::json to_json(const GroupOutcome& outcome);
GroupOutcome group_outcome_from_json(const nlohmann::json& json);

class Curation {
 public:
  explicit Curation(const CurationSettings& settings)
      : quarantine_(settings.quarantine),
        repair_(settings.repair),
        repairs_failures_(settings.repair.probability > 0) {}

  // For each of a step's `groups`, the earlier failure that it is asked to repair, if any; none is asked
  // twice in a step. `key` decides.
  std::vector<std::optional<RepairEntry>> repairs(size_t groups, Stage stage, uint64_t key) const;
  const Quarantine& quarantine() const { return quarantine_; }
  const BestResponses& best() const { return best_; }

  // Rewards of this basis are noted from now on; best responses of another one are forgotten.
  void reward_by(const std::string& reward_basis);

  // After a step: the groups of all ranks, in the same order on each. Returns sentences that name the tasks
  // found invalid for the first time, for a person.
  std::vector<std::string> note(const std::vector<GroupOutcome>& groups);
  // The same of one task; empty if it was known.
  std::string note_invalid_task(const std::string& task_id, const std::string& reason);
  bool is_invalid(const std::string& task_id) const { return invalid_tasks_.contains(task_id); }
  int64_t invalid_tasks() const { return static_cast<int64_t>(invalid_tasks_.size()); }

  nlohmann::json state() const;
  // A state from before there were best responses has none. Throws InputError, and changes nothing then.
  void restore(const nlohmann::json& state);

 private:
  Quarantine quarantine_;
  RepairBuffer repair_;
  BestResponses best_;
  bool repairs_failures_;
  std::map<std::string, std::string> invalid_tasks_;  // tasks, and why
};

}  // namespace bicrl

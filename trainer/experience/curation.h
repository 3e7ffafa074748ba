// What a run learns about its tasks beside rewards: which successes must be confirmed, and which failures
// come back as prompts. All ranks hold equal contents, because all of them note every rank's outcomes in the
// same order. Not thread-safe.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reward/quarantine.h"
#include "reward/repair_buffer.h"
#include "tasks/task.h"
#include "trainer/ranks/communicator.h"

namespace bicrl {

struct CurationSettings {
  QuarantineSettings quarantine;
  RepairSettings repair;

  // Sections quarantine and repair.
  static CurationSettings from_config(const ConfigSection& section);
};

// A group of a step: its task, and a failed attempt to show where the group is to repair one.
struct PromptedTask {
  const Task* task = nullptr;
  std::optional<FailedAttempt> repair;
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
};

class Curation {
 public:
  explicit Curation(const CurationSettings& settings)
      : quarantine_(settings.quarantine),
        repair_(settings.repair),
        repairs_(settings.repair.probability > 0) {}

  // The tasks of a step, some of them replaced by repairs of earlier failures. `key` decides.
  std::vector<PromptedTask> prompts(const std::vector<const Task*>& chosen, const std::vector<Task>& tasks,
                                    Stage stage, uint64_t key) const;
  const Quarantine& quarantine() const { return quarantine_; }
  bool repairs() const { return repairs_; }
  size_t waiting_repairs() const { return repair_.size(); }

  // Collective, after a step: `mine` are this rank's groups.
  void note(const std::vector<GroupOutcome>& mine, Communicator& communicator);

  nlohmann::json state() const;
  void restore(const nlohmann::json& state);  // throws InputError

 private:
  Quarantine quarantine_;
  RepairBuffer repair_;
  bool repairs_;
};

}  // namespace bicrl

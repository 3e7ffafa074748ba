// Selection of the parts of its work that a run does. A whole run generates, verifies and updates; a
// replay takes what another run left in place of a part: its saved rollouts, its verdicts. So each part can
// be tried, timed and changed by itself, and updates repeated from the same data under other settings. Plain
// data.
#pragma once
#include <filesystem>
#include <string>

#include "common/config/config.h"

namespace bicrl {

enum class RunParts {
  kWhole,
  kRollouts,  // generates and saves; nothing is verified, the policy stays as it is
  kVerdicts,  // verifies the saved rollouts of another run
  kUpdates,   // trains on the saved rollouts and verdicts of other runs
  kTraining,  // verifies the saved rollouts of another run and trains on them
};

struct ReplaySettings {
  RunParts parts = RunParts::kWhole;
  std::filesystem::path rollouts;  // run directory whose rollouts are taken; empty if they are generated
  std::filesystem::path verdicts;  // run directory whose ledger is taken; empty where verdicts are asked for

  bool generates() const { return parts == RunParts::kWhole || parts == RunParts::kRollouts; }
  bool verifies() const { return parts != RunParts::kRollouts && parts != RunParts::kUpdates; }
  bool updates() const { return parts != RunParts::kRollouts && parts != RunParts::kVerdicts; }

  // Keys only (whole, rollouts, verdicts, updates, training), rollouts, and verdicts (default: as rollouts).
  static ReplaySettings from_config(const ConfigSection& section, const std::filesystem::path& config_folder);
};

}  // namespace bicrl

#include "trainer/run/replay_settings.h"

#include "trainer/inputs/existing_path.h"

namespace bicrl {
namespace {

RunParts parse_parts(const std::string& name) {
  if (name == "rollouts") return RunParts::kRollouts;
  if (name == "verdicts") return RunParts::kVerdicts;
  if (name == "updates") return RunParts::kUpdates;
  if (name == "training") return RunParts::kTraining;
  return RunParts::kWhole;
}

}  // namespace

ReplaySettings ReplaySettings::from_config(const ConfigSection& section,
                                           const std::filesystem::path& config_folder) {
  ReplaySettings settings;
  settings.parts =
      parse_parts(section.choice("only", "whole", {"whole", "rollouts", "verdicts", "updates", "training"}));
  const std::string rollouts = section.text("rollouts", "");
  const std::string verdicts = section.text("verdicts", "");
  if (settings.generates() != rollouts.empty())
    section.reject("rollouts", rollouts.empty()
                                   ? "a replay of verdicts, updates or both needs a run with rollouts"
                                   : "a run that generates takes no other run's rollouts");
  if (!verdicts.empty() && settings.parts != RunParts::kUpdates)
    section.reject("verdicts", "only a replay of updates takes another run's verdicts");
  if (settings.generates()) return settings;
  settings.rollouts = existing_path(section, "rollouts", rollouts, config_folder);
  if (settings.parts != RunParts::kUpdates) return settings;
  settings.verdicts =
      verdicts.empty() ? settings.rollouts : existing_path(section, "verdicts", verdicts, config_folder);
  return settings;
}

}  // namespace bicrl

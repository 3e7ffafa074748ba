#include "trainer/experience/curation.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl {
namespace {

constexpr std::string_view kRepairStream = "repair";

nlohmann::json to_json(const GroupOutcome& outcome) {
  nlohmann::json noted = nlohmann::json::array();
  for (const auto& success : outcome.noted)
    noted.push_back({{"program", success.program}, {"verdict", bicrl::to_json(success.verdict)}});
  return {{"task", outcome.task_id},
          {"noted", noted},
          {"failure", outcome.failure ? bicrl::to_json(*outcome.failure) : nlohmann::json()}};
}

}  // namespace

CurationSettings CurationSettings::from_config(const ConfigSection& section) {
  return {.quarantine = QuarantineSettings::from_config(section.section("quarantine")),
          .repair = RepairSettings::from_config(section.section("repair"))};
}

std::vector<PromptedTask> Curation::prompts(const std::vector<const Task*>& chosen,
                                            const std::vector<Task>& tasks, Stage stage, uint64_t key) const {
  std::vector<PromptedTask> prompts;
  for (size_t i = 0; i < chosen.size(); ++i) {
    prompts.push_back({.task = chosen[i], .repair = std::nullopt});
    const auto entry = repair_.draw(mix_key({mix_key(key, kRepairStream), i}), stage);
    if (!entry) continue;
    for (const Task& task : tasks)
      if (task.id == entry->task_id) prompts.back() = {.task = &task, .repair = entry->attempt};
  }
  return prompts;
}

void Curation::note(const std::vector<GroupOutcome>& mine, Communicator& communicator) {
  nlohmann::json outcomes = nlohmann::json::array();
  for (const GroupOutcome& outcome : mine)
    if (!outcome.noted.empty() || outcome.failure) outcomes.push_back(to_json(outcome));
  const std::string text = outcomes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (const std::string& part : communicator.all_gather(text)) {
    for (const auto& outcome : nlohmann::json::parse(part)) {
      const std::string task_id = outcome["task"];
      for (const auto& success : outcome["noted"]) {
        const Verdict verdict = verdict_from_json(success["verdict"]);
        quarantine_.note(task_id, success["program"], verdict);
        if (verdict.correct) repair_.solved(task_id);
      }
      if (repairs_ && !outcome["failure"].is_null()) repair_.add(repair_entry_from_json(outcome["failure"]));
    }
  }
}

nlohmann::json Curation::state() const {
  return {{"quarantine", quarantine_.state()}, {"repair", repair_.state()}};
}

void Curation::restore(const nlohmann::json& state) {
  if (!state.is_object() || !state.contains("quarantine") || !state.contains("repair"))
    throw InputError("state of curation: quarantine or repair is missing");
  quarantine_.restore(state["quarantine"]);
  repair_.restore(state["repair"]);
}

}  // namespace bicrl

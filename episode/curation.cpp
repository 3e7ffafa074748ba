#include "episode/curation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl {
namespace {

constexpr std::string_view kRepairStream = "repair";

}  // namespace

nlohmann::json to_json(const GroupOutcome& outcome) {
  nlohmann::json noted = nlohmann::json::array();
  for (const auto& success : outcome.noted)
    noted.push_back({{"program", success.program}, {"verdict", to_json(success.verdict)}});
  return {{"task", outcome.task_id},
          {"noted", noted},
          {"failure", outcome.failure ? to_json(*outcome.failure) : nlohmann::json()},
          {"invalid_task", outcome.invalid_task},
          {"reward", outcome.reward ? to_json(*outcome.reward) : nlohmann::json()}};
}

GroupOutcome group_outcome_from_json(const nlohmann::json& json) {
  GroupOutcome outcome{.task_id = json.at("task"), .noted = {}, .failure = std::nullopt};
  for (const auto& success : json.at("noted"))
    outcome.noted.push_back({success.at("program"), verdict_from_json(success.at("verdict"))});
  if (!json.at("failure").is_null()) outcome.failure = repair_entry_from_json(json.at("failure"));
  outcome.invalid_task = json.at("invalid_task");
  if (!json.at("reward").is_null()) outcome.reward = group_reward_from_json(json.at("reward"));
  return outcome;
}

CurationSettings CurationSettings::from_config(const ConfigSection& section) {
  return {.quarantine = QuarantineSettings::from_config(section.section("quarantine")),
          .repair = RepairSettings::from_config(section.section("repair")),
          .refill = RefillSettings::from_config(section.section("refill"))};
}

std::vector<std::optional<RepairEntry>> Curation::repairs(size_t groups, Stage stage, uint64_t key) const {
  std::vector<std::optional<RepairEntry>> repairs;
  for (size_t i = 0; i < groups; ++i) {
    std::optional<RepairEntry> drawn = repair_.draw(mix_key({mix_key(key, kRepairStream), i}), stage);
    // A buffer of one entry would else fill a step with it.
    if (drawn && std::ranges::find(repairs, drawn) != repairs.end()) drawn.reset();
    repairs.push_back(std::move(drawn));
  }
  return repairs;
}

std::vector<std::string> Curation::note(const std::vector<GroupOutcome>& groups) {
  std::vector<std::string> found;
  for (const GroupOutcome& group : groups) {
    for (const GroupOutcome::Success& success : group.noted) {
      quarantine_.note(group.task_id, success.program, success.verdict);
      if (success.verdict.correct)
        repair_.solved(group.task_id);
      else
        best_.forget(group.task_id);
    }
    if (repairs_failures_ && group.failure) repair_.add(*group.failure);
    if (group.reward) best_.note(*group.reward);
    if (group.invalid_task.empty()) continue;
    if (std::string text = note_invalid_task(group.task_id, group.invalid_task); !text.empty())
      found.push_back(std::move(text));
  }
  return found;
}

void Curation::reward_by(const std::string& reward_basis) {
  if (reward_basis != best_.basis()) best_ = BestResponses(reward_basis);
}

std::string Curation::note_invalid_task(const std::string& task_id, const std::string& reason) {
  if (!invalid_tasks_.emplace(task_id, reason).second) return "";
  best_.forget(task_id);
  return concat("task ", task_id, " cannot be graded and is left out from now on: ", reason);
}

nlohmann::json Curation::state() const {
  return {{"quarantine", quarantine_.state()},
          {"repair", repair_.state()},
          {"best", best_.state()},
          {"at_fault", invalid_tasks_}};
}

void Curation::restore(const nlohmann::json& state) {
  for (const char* part : {"quarantine", "repair", "at_fault"})
    if (!state.is_object() || !state.contains(part))
      throw InputError(concat("state of curation: ", part, " is missing"));
  Curation fresh = *this;
  fresh.quarantine_.restore(state["quarantine"]);
  fresh.repair_.restore(state["repair"]);
  const auto best = state.find("best");
  fresh.best_.restore(
      best != state.end() ? *best : nlohmann::json{{"basis", ""}, {"entries", nlohmann::json::array()}});
  fresh.invalid_tasks_ = state["at_fault"].get<std::map<std::string, std::string>>();
  *this = std::move(fresh);
}

}  // namespace bicrl

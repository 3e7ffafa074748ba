#include "trainer/experience/experience_exchange.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "common/error.h"

namespace bicrl {
namespace {

using nlohmann::json;

json to_json(const Experience& e) {
  const Rollout& r = e.rollout;
  return {{"group", e.group},
          {"sample", e.sample},
          {"reward", e.reward},
          {"advantage", e.advantage},
          {"task", r.task_id},
          {"policy_version", r.policy_version},
          {"tokens", r.tokens},
          {"prompt_tokens", r.prompt_tokens},
          {"step_map", r.step_map},
          {"log_probs", r.log_probs},
          {"finish", static_cast<int>(r.finish)},
          {"text", r.text},
          {"clamped", r.clamped},
          {"denoise_steps", r.denoise_steps}};
}

Experience experience_from_json(const json& document) {
  Experience e;
  e.group = document.at("group");
  e.sample = document.at("sample");
  e.reward = document.at("reward");
  e.advantage = document.at("advantage");
  Rollout& r = e.rollout;
  r.task_id = document.at("task");
  r.policy_version = document.at("policy_version");
  document.at("tokens").get_to(r.tokens);
  r.prompt_tokens = document.at("prompt_tokens");
  document.at("step_map").get_to(r.step_map);
  document.at("log_probs").get_to(r.log_probs);
  r.finish = static_cast<FinishReason>(document.at("finish").get<int>());
  r.text = document.at("text");
  r.clamped = document.at("clamped");
  r.denoise_steps = document.at("denoise_steps");
  return e;
}

json whole(const ResponseEntry& e) {
  json document = to_json(e);
  document["text"] = e.text;
  document["terms"] = json::array();
  for (const RewardTerm& term : e.terms) document["terms"].push_back({term.name, term.value});
  if (e.verdict) document["graded"] = to_json(*e.verdict);
  return document;
}

ResponseEntry whole_entry_from_json(const json& document) {
  ResponseEntry e = response_entry_from_json(document);
  e.text = document.at("text");
  for (const json& term : document.at("terms")) e.terms.push_back({term.at(0), term.at(1)});
  if (const auto graded = document.find("graded"); graded != document.end())
    e.verdict = verdict_from_json(*graded);
  return e;
}

// CBOR: numbers keep their bits, texts need not be UTF-8.
std::string to_bytes(const std::vector<Experience>& experiences, const std::vector<ResponseEntry>& entries) {
  json document = {{"experiences", json::array()}, {"entries", json::array()}};
  for (const Experience& e : experiences) document["experiences"].push_back(to_json(e));
  for (const ResponseEntry& e : entries) document["entries"].push_back(whole(e));
  const std::vector<uint8_t> bytes = json::to_cbor(document);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

HandedOver hand_over(const std::vector<Experience>& experiences, const std::vector<ResponseEntry>& entries,
                     const Placement& placement, ControlPlane& control) {
  HandedOver mine;
  const std::string bytes = placement.generates(control.rank()) ? to_bytes(experiences, entries) : "";
  const std::vector<std::string> parts = control.all_gather(bytes);
  if (!placement.trains(control.rank())) return mine;
  const auto trained_here = [&](const auto& of) { return placement.trainer_of(of.group) == control.rank(); };
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const json document = json::from_cbor(part);
    for (const json& e : document.at("experiences"))
      if (Experience read = experience_from_json(e); trained_here(read))
        mine.experiences.push_back(std::move(read));
    for (const json& e : document.at("entries"))
      if (ResponseEntry read = whole_entry_from_json(e); trained_here(read))
        mine.entries.push_back(std::move(read));
  }
  std::sort(mine.experiences.begin(), mine.experiences.end(), [](const Experience& a, const Experience& b) {
    return std::tie(a.group, a.sample) < std::tie(b.group, b.sample);
  });
  std::stable_sort(mine.entries.begin(), mine.entries.end(),
                   [](const ResponseEntry& a, const ResponseEntry& b) { return a.group < b.group; });
  return mine;
}

void require_versions(const std::vector<Experience>& experiences, int64_t oldest, int64_t newest) {
  for (const Experience& e : experiences)
    if (e.rollout.policy_version < oldest || e.rollout.policy_version > newest)
      throw Error(concat(
          "group ", e.group, " was made by version ", e.rollout.policy_version,
          " of the policy; this update takes ",
          oldest == newest ? concat("version ", newest) : concat("versions ", oldest, " to ", newest)));
}

}  // namespace bicrl

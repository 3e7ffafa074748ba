#include "reward/best_responses.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl {
namespace {

using nlohmann::json;

// As text: a state holds many, and a list in an indented document takes a line for each.
std::string text_of(const std::vector<int64_t>& tokens) {
  std::string text;
  for (const int64_t token : tokens) text += concat(text.empty() ? "" : " ", token);
  return text;
}

std::vector<int64_t> tokens_of(const json& text) {
  std::istringstream stream(text.get<std::string>());
  std::vector<int64_t> tokens;
  for (int64_t token = 0; stream >> token;) tokens.push_back(token);
  if (!stream.eof()) throw InputError("rewards of a group: what should be token ids is something else");
  return tokens;
}

json best_to_json(double reward, const ResponseTokens& tokens) {
  return {{"reward", reward}, {"prompt", text_of(tokens.prompt)}, {"response", text_of(tokens.response)}};
}

}  // namespace

json to_json(const GroupReward& group) {
  json object = {{"task_id", group.task_id}, {"stage", to_string(group.stage)}, {"mean", group.mean}};
  if (group.repair) object["repair"] = true;
  if (group.best) object["best"] = best_to_json(group.best->reward, group.best->tokens);
  return object;
}

GroupReward group_reward_from_json(const json& object) try {
  GroupReward group;
  object.at("task_id").get_to(group.task_id);
  group.stage = parse_stage(object.at("stage").get<std::string>());
  object.at("mean").get_to(group.mean);
  group.repair = object.value("repair", false);
  if (const auto best = object.find("best"); best != object.end()) {
    group.best.emplace();
    best->at("reward").get_to(group.best->reward);
    group.best->tokens = {.prompt = tokens_of(best->at("prompt")),
                          .response = tokens_of(best->at("response"))};
  }
  return group;
} catch (const json::exception& error) {
  throw InputError(concat("rewards of a group: ", error.what()));
}

void BestResponses::note(const GroupReward& group) {
  const auto known = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.stage == group.stage && entry.task_id == group.task_id && entry.repair == group.repair;
  });
  Entry entry{.task_id = group.task_id, .stage = group.stage, .repair = group.repair, .tokens = {}};
  const bool had = known != entries_.end();
  if (had) {
    entry = std::move(*known);
    entries_.erase(known);
  }
  entry.mean = group.mean;
  if (group.best && (!had || group.best->reward > entry.reward)) {
    entry.reward = group.best->reward;
    entry.tokens = group.best->tokens;
  } else if (!had) {
    return;
  }
  entries_.push_back(std::move(entry));
  while (entries_.size() > capacity_) entries_.pop_front();
}

const ResponseTokens* BestResponses::draw(uint64_t key, Stage stage) const {
  double total = 0;
  for (const Entry& entry : entries_)
    if (entry.stage == stage) total += entry.gain();
  double left = RandomStream(key).uniform() * total;
  const Entry* drawn = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.stage != stage || entry.gain() == 0) continue;
    drawn = &entry;  // the last one stands for what rounding leaves over
    left -= entry.gain();
    if (left < 0) break;
  }
  return drawn ? &drawn->tokens : nullptr;
}

void BestResponses::forget(const std::string& task_id) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.task_id == task_id; });
}

size_t BestResponses::size(Stage stage) const {
  return static_cast<size_t>(std::ranges::count_if(
      entries_, [&](const Entry& entry) { return entry.stage == stage && entry.gain() > 0; }));
}

json BestResponses::state() const {
  json entries = json::array();
  for (const Entry& entry : entries_)
    entries.push_back(to_json(GroupReward{.task_id = entry.task_id,
                                          .stage = entry.stage,
                                          .repair = entry.repair,
                                          .mean = entry.mean,
                                          .best = GroupReward::Best{entry.reward, entry.tokens}}));
  return {{"basis", basis_}, {"entries", entries}};
}

void BestResponses::restore(const json& state) {
  const auto found = state.is_object() ? state.find("entries") : state.end();
  const auto basis = state.is_object() ? state.find("basis") : state.end();
  if (!state.is_object() || found == state.end() || !found->is_array())
    throw InputError("state of best responses: field 'entries' must be a list");
  if (basis == state.end() || !basis->is_string())
    throw InputError("state of best responses: field 'basis' must be a string");
  BestResponses fresh(basis_, capacity_);
  for (const json& entry : *found) {
    const GroupReward group = group_reward_from_json(entry);
    if (!group.best) throw InputError("state of best responses: an entry has no response");
    if (*basis == basis_) fresh.note(group);
  }
  entries_ = std::move(fresh.entries_);
}

}  // namespace bicrl

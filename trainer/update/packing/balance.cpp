#include "trainer/update/packing/balance.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "common/error.h"
#include "episode/episode_fields.h"

namespace bicrl {
namespace {

using nlohmann::json;

json to_json(const Experience& experience) {
  Episode episode{.key = {.group = experience.group, .sample = experience.sample},
                  .task_id = experience.rollout.task_id};
  episode.last().rollout = experience.rollout;
  episode.reward.value = experience.reward;
  episode.advantage = experience.advantage;
  json document = to_json(episode, EpisodeForm::kRanks);
  document["turn"] = experience.turn;  // which the only turn here is of its episode
  return document;
}

Experience experience_from(const json& document) {
  Episode episode = episode_from_json(document, EpisodeForm::kRanks);
  return {.group = episode.key.group,
          .sample = episode.key.sample,
          .turn = document.at("turn").get<int64_t>(),
          .rollout = std::move(episode.last().rollout),
          .reward = episode.reward.value,
          .advantage = episode.advantage};
}

template <class T>
void sort_by_sample(std::vector<T>& items) {
  std::ranges::stable_sort(items, {},
                           [](const T& item) { return std::tuple(item.group, item.sample, item.turn); });
}

}  // namespace

BalancedStep balance(const std::vector<Experience>& mine, const StepKeys& keys, int64_t responses_per_update,
                     uint64_t key, const RowCost& cost, ControlPlane& control) {
  const auto ranks = static_cast<size_t>(control.size()), own = static_cast<size_t>(control.rank());
  BICRL_CHECK(keys.size() == ranks && keys[own].size() == mine.size(), mine.size(), " experiences");
  const std::vector<std::vector<int>> trainers = balanced_ranks(keys, responses_per_update, key, cost);
  BalancedStep step;
  step.keys.resize(ranks);
  for (size_t rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < keys[rank].size(); ++i)
      step.keys[static_cast<size_t>(trainers[rank][i])].push_back(keys[rank][i]);
  for (std::vector<ExperienceKey>& of_rank : step.keys) sort_by_sample(of_rank);

  std::vector<json> lists(ranks, json::array());
  for (size_t i = 0; i < mine.size(); ++i) {
    const auto trainer = static_cast<size_t>(trainers[own][i]);
    if (trainer == own)
      step.experiences.push_back(mine[i]);
    else
      lists[trainer].push_back(to_json(mine[i]));
  }
  // CBOR: numbers keep their bits, texts need not be UTF-8.
  std::vector<std::string> parts;
  for (const json& list : lists) {
    std::string& part = parts.emplace_back();
    if (!list.empty()) json::to_cbor(list, part);
  }
  for (const std::string& part : control.all_to_all(parts)) {
    if (part.empty()) continue;
    for (const json& document : json::from_cbor(part)) step.experiences.push_back(experience_from(document));
  }
  sort_by_sample(step.experiences);
  return step;
}

}  // namespace bicrl

#include "trainer/experience/experience_exchange.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "common/error.h"
#include "episode/episode_fields.h"

namespace bicrl {
namespace {

using nlohmann::json;

// CBOR: numbers keep their bits, texts need not be UTF-8.
std::string to_bytes(const json& episodes) {
  if (episodes.empty()) return "";
  const std::vector<uint8_t> bytes = json::to_cbor(episodes);
  return {bytes.begin(), bytes.end()};
}

// Of the episodes what each rank trains.
std::vector<std::string> by_trainer(const std::vector<Episode>& episodes, const Placement& placement) {
  std::vector<json> lists(static_cast<size_t>(placement.ranks()), json::array());
  for (const Episode& e : episodes)
    lists[static_cast<size_t>(placement.trainer_of(e.key.group))].push_back(
        to_json(e.is_trained ? e : without_tokens(e), EpisodeForm::kRanks));
  std::vector<std::string> parts;
  for (const json& list : lists) parts.push_back(to_bytes(list));
  return parts;
}

}  // namespace

std::vector<Episode> hand_over(const std::vector<Episode>& generated, const Placement& placement,
                               ControlPlane& control) {
  std::vector<Episode> mine;
  for (const std::string& part : control.all_to_all(by_trainer(generated, placement))) {
    if (part.empty()) continue;
    for (const json& e : json::from_cbor(part)) mine.push_back(episode_from_json(e, EpisodeForm::kRanks));
  }
  std::ranges::sort(mine, {}, &Episode::key);
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

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
std::string to_bytes(const std::vector<Episode>& episodes) {
  json document = json::array();
  for (const Episode& e : episodes)
    document.push_back(to_json(e.is_trained ? e : without_tokens(e), EpisodeForm::kRanks));
  const std::vector<uint8_t> bytes = json::to_cbor(document);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<Episode> hand_over(const std::vector<Episode>& generated, const Placement& placement,
                               ControlPlane& control) {
  std::vector<Episode> mine;
  const std::string bytes = placement.generates(control.rank()) ? to_bytes(generated) : "";
  const std::vector<std::string> parts = control.all_gather(bytes);
  if (!placement.trains(control.rank())) return mine;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    for (const json& e : json::from_cbor(part)) {
      Episode read = episode_from_json(e, EpisodeForm::kRanks);
      if (placement.trainer_of(read.key.group) == control.rank()) mine.push_back(std::move(read));
    }
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

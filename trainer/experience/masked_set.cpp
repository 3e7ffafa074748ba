#include "trainer/experience/masked_set.h"

#include <nlohmann/json.hpp>

#include "common/error.h"

namespace bicrl {

MaskedSet masked_set(const StepPlace& place, const std::vector<Episode>& episodes) {
  MaskedSet set{.place = place, .turns = {}};
  for (const Episode& episode : episodes)
    for (size_t i = 0; i < episode.turns.size(); ++i)
      if (const Turn& turn = episode.turns[i]; turn.is_lost())
        set.turns.push_back({.episode = episode.key,
                             .turn = static_cast<int64_t>(i),
                             .verdict_key = turn.verdict_key,
                             .straggled = turn.straggled,
                             .verdict = *turn.verdict});
  return set;
}

nlohmann::json to_json(const MaskedSet& set) {
  nlohmann::json masked = nlohmann::json::array();
  for (const MaskedTurn& t : set.turns)
    masked.push_back({{"group", t.episode.group},
                      {"sample", t.episode.sample},
                      {"turn", t.turn},
                      {"key", t.verdict_key},
                      {"straggled", t.straggled},
                      {"verdict", to_json(t.verdict)}});
  return {{"phase", set.place.phase}, {"step", set.place.step}, {"masked", masked}};
}

MaskedSet masked_set_from_json(const nlohmann::json& json) {
  MaskedSet set{.place = {json.at("phase").get<std::string>(), json.at("step").get<int64_t>()}, .turns = {}};
  for (const auto& t : json.at("masked")) {
    set.turns.push_back({.episode = {.place = set.place,
                                     .group = t.at("group").get<int64_t>(),
                                     .sample = t.at("sample").get<int64_t>()},
                         .turn = t.at("turn").get<int64_t>(),
                         .verdict_key = t.at("key").get<std::string>(),
                         .straggled = t.at("straggled").get<bool>(),
                         .verdict = verdict_from_json(t.at("verdict"))});
    if (set.turns.back().verdict.outcome != Outcome::kInfrastructure)
      throw InputError("a turn that was left without a verdict has one");
  }
  return set;
}

void MaskedTurns::add(const MaskedSet& set) {
  for (const MaskedTurn& t : set.turns) {
    turns_.emplace(Position(t.episode, t.turn, t.verdict_key), t);
    keys_.insert(t.verdict_key);
  }
}

const MaskedTurn* MaskedTurns::find(const EpisodeKey& episode, int64_t turn, const std::string& key) const {
  const auto found = turns_.find(Position(episode, turn, key));
  return found == turns_.end() ? nullptr : &found->second;
}

}  // namespace bicrl

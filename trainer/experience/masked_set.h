// The turns of a step that were left without a verdict when it was decided what the update is made of.
// Clocks decide that: how long the verifiers took, and how long the run waited. So it is a fact of the run,
// which the ledger keeps, and a step that is repeated leaves out the same turns. Plain values.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "episode/verdict_store.h"

namespace bicrl {

// One rank's turns of one step.
struct MaskedSet {
  StepPlace place;
  std::vector<MaskedTurn> turns;
};
// Of a rank's episodes, all of one step.
MaskedSet masked_set(const StepPlace& place, const std::vector<Episode>& episodes);
nlohmann::json to_json(const MaskedSet& set);
// Throws InputError, or what the JSON library throws for a field that is missing or of another type.
MaskedSet masked_set_from_json(const nlohmann::json& json);

// All sets of a ledger. Not thread-safe.
class MaskedTurns {
 public:
  void add(const MaskedSet& set);
  // Null if that turn has its verdict. The key shows whether it still is the same answer: after a change of
  // the configuration another program may stand in its place.
  const MaskedTurn* find(const EpisodeKey& episode, int64_t turn, const std::string& key) const;
  bool has_key(const std::string& key) const { return keys_.contains(key); }

 private:
  using Position = std::tuple<EpisodeKey, int64_t, std::string>;
  std::map<Position, MaskedTurn> turns_;
  std::unordered_set<std::string> keys_;
};

}  // namespace bicrl

// The responses of a step that were left without a verdict when it was decided what the update is made of.
// Clocks decide that: how long the verifiers took, and how long the run waited. So it is a fact of the run,
// which the ledger keeps, and a step that is repeated leaves out the same responses. Plain values.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "verdict/verdict.h"

namespace bicrl {

// A step of a run, wherever it is met: before a crash and after it, or in a replay.
struct StepPlace {
  std::string phase;
  int64_t step = 0;  // 1-based within the phase
};

struct MaskedResponse {
  int64_t group = 0;       // of the step, over all ranks
  int64_t sample = 0;      // within the group
  std::string key;         // of the verdict that did not come
  bool straggled = false;  // the run gave it up; else the verifiers could not tell
  Verdict verdict;         // its outcome is kInfrastructure; says why
};

// One rank's responses of one step.
struct MaskedSet {
  StepPlace place;
  std::vector<MaskedResponse> responses;
};
nlohmann::json to_json(const MaskedSet& set);
// Throws InputError, or what the JSON library throws for a field that is missing or of another type.
MaskedSet masked_set_from_json(const nlohmann::json& json);

// All sets of a ledger. Not thread-safe.
class MaskedResponses {
 public:
  void add(const MaskedSet& set);
  // Null if that response has its verdict. The key tells whether it still is the same response: after a
  // change of the configuration another program may stand in its place.
  const MaskedResponse* find(const StepPlace& place, int64_t group, int64_t sample,
                             const std::string& key) const;
  bool has_key(const std::string& key) const { return keys_.contains(key); }

 private:
  using Position = std::tuple<std::string, int64_t, int64_t, int64_t, std::string>;
  std::map<Position, MaskedResponse> responses_;
  std::unordered_set<std::string> keys_;
};

}  // namespace bicrl

#include "trainer/experience/masked_set.h"

#include <nlohmann/json.hpp>

#include "common/error.h"

namespace bicrl {

nlohmann::json to_json(const MaskedSet& set) {
  nlohmann::json masked = nlohmann::json::array();
  for (const MaskedResponse& r : set.responses)
    masked.push_back({{"group", r.group},
                      {"sample", r.sample},
                      {"key", r.key},
                      {"straggled", r.straggled},
                      {"verdict", to_json(r.verdict)}});
  return {{"phase", set.place.phase}, {"step", set.place.step}, {"masked", masked}};
}

MaskedSet masked_set_from_json(const nlohmann::json& json) {
  MaskedSet set{.place = {json.at("phase").get<std::string>(), json.at("step").get<int64_t>()},
                .responses = {}};
  for (const auto& r : json.at("masked")) {
    set.responses.push_back({.group = r.at("group").get<int64_t>(),
                             .sample = r.at("sample").get<int64_t>(),
                             .key = r.at("key").get<std::string>(),
                             .straggled = r.at("straggled").get<bool>(),
                             .verdict = verdict_from_json(r.at("verdict"))});
    if (set.responses.back().verdict.outcome != Outcome::kInfrastructure)
      throw InputError("a response that was left without a verdict has one");
  }
  return set;
}

void MaskedResponses::add(const MaskedSet& set) {
  for (const MaskedResponse& r : set.responses) {
    responses_.emplace(Position(set.place.phase, set.place.step, r.group, r.sample, r.key), r);
    keys_.insert(r.key);
  }
}

const MaskedResponse* MaskedResponses::find(const StepPlace& place, int64_t group, int64_t sample,
                                            const std::string& key) const {
  const auto found = responses_.find(Position(place.phase, place.step, group, sample, key));
  return found == responses_.end() ? nullptr : &found->second;
}

}  // namespace bicrl

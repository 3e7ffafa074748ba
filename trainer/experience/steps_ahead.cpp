#include "trainer/experience/steps_ahead.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace bicrl {
namespace {

std::vector<std::string> verdict_keys_of(const CollectedStep& collected) {
  std::vector<std::string> keys;
  for (const Episode& episode : collected.log) keys.push_back(episode.last().verdict_key);
  return keys;
}

}  // namespace

std::vector<int64_t> StepsAhead::due(int64_t step, int64_t last) const {
  std::vector<int64_t> due;
  const int64_t newest = std::min(step + max_staleness_, last);
  for (int64_t next = (steps_.empty() ? step : steps_.back().step) + 1; next <= newest; ++next)
    due.push_back(next);
  return due;
}

void StepsAhead::add(int64_t step, int64_t policy_version, CollectedStep collected) {
  GeneratedAhead ahead{.step = step,
                       .policy_version = policy_version,
                       .generated_tokens = collected.figures.sums[Sum::kGenerated],
                       .forwards = collected.figures.sums[Sum::kForwards],
                       .verdict_keys = {},
                       .collected = std::nullopt};
  if (!collected.interrupted) {
    ahead.verdict_keys = verdict_keys_of(collected);
    ahead.collected = std::move(collected);
  }
  saved_.insert(step);
  steps_.push_back(std::move(ahead));
}

CollectedStep StepsAhead::take(const Collect& collect) {
  // All of them: a step whose verdicts a stop interrupted is scored with what quarantine knew when it was
  // generated, before it learns of the step that is taken here.
  for (GeneratedAhead& ahead : steps_) {
    if (ahead.collected) continue;
    CollectedStep collected = collect(ahead);
    if (collected.interrupted) return collected;
    collected.figures.sums[Sum::kGenerated] = ahead.generated_tokens;
    collected.figures.sums[Sum::kForwards] = ahead.forwards;
    collected.rollout_seconds = 0;  // its generation was timed before the run was resumed
    ahead.verdict_keys = verdict_keys_of(collected);
    ahead.collected = std::move(collected);
  }
  CollectedStep first = std::move(*steps_.front().collected);
  steps_.pop_front();
  return first;
}

nlohmann::json StepsAhead::state() const {
  if (steps_.empty()) return nullptr;
  nlohmann::json state = nlohmann::json::array();
  for (const GeneratedAhead& ahead : steps_)
    state.push_back({{"step", ahead.step},
                     {"policy_version", ahead.policy_version},
                     {"generated_tokens", ahead.generated_tokens},
                     {"forwards", ahead.forwards},
                     {"verdict_keys", ahead.verdict_keys}});
  return state;
}

void StepsAhead::restore(const nlohmann::json& state) {
  steps_.clear();
  for (const nlohmann::json& step : state) {
    steps_.push_back({.step = step.at("step"),
                      .policy_version = step.at("policy_version"),
                      .generated_tokens = step.at("generated_tokens"),
                      .forwards = step.at("forwards"),
                      .verdict_keys = step.at("verdict_keys"),
                      .collected = std::nullopt});
    saved_.insert(steps_.back().step);
  }
}

std::vector<int64_t> StepsAhead::unneeded(const std::set<int64_t>& checkpoints) {
  std::vector<int64_t> unneeded;
  for (const int64_t step : saved_) {
    const bool waits =
        std::ranges::any_of(steps_, [&](const GeneratedAhead& ahead) { return ahead.step == step; });
    const auto before = checkpoints.lower_bound(step - max_staleness_);
    if (!waits && (before == checkpoints.end() || *before >= step)) unneeded.push_back(step);
  }
  for (const int64_t step : unneeded) saved_.erase(step);
  return unneeded;
}

}  // namespace bicrl

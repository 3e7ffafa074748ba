#include "curation/pipeline_state.h"

#include <algorithm>
#include <charconv>

#include "common/config/config_diff.h"
#include "common/error.h"
#include "common/files/files.h"
#include "common/json.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kSteps = "steps.";

Json to_json(const FinishedStep& step) {
  return {{"name", step.name},
          {"in", step.counts.in},
          {"out", step.counts.out},
          {"reasons", step.counts.reasons},
          {"records_hash", step.records_hash},
          {"inputs", step.inputs},
          {"card", step.card}};
}

FinishedStep step_from_json(const Json& json) {
  FinishedStep step;
  step.name = json.at("name").get<std::string>();
  step.counts.in = json.at("in").get<int64_t>();
  step.counts.out = json.at("out").get<int64_t>();
  step.counts.reasons = json.at("reasons").get<std::map<std::string, int64_t>>();
  step.records_hash = json.at("records_hash").get<std::string>();
  step.inputs = json.at("inputs");
  step.card = json.at("card");
  return step;
}

// Of a key "steps.3.min": 3; nothing of another.
std::optional<size_t> step_of(const std::string& key) {
  if (!key.starts_with(kSteps)) return std::nullopt;
  size_t number = 0;
  const auto [end, error] = std::from_chars(key.data() + kSteps.size(), key.data() + key.size(), number);
  return error == std::errc() ? std::optional<size_t>(number) : std::nullopt;
}

}  // namespace

int64_t StepCounts::dropped() const {
  int64_t sum = 0;
  for (const auto& [reason, count] : reasons) sum += count;
  return sum;
}

PipelineState PipelineState::load(const fs::path& file) {
  PipelineState state;
  if (!fs::exists(file)) return state;
  try {
    const Json json = Json::parse(read_file(file));
    state.yaml = json.at("configuration").get<std::string>();
    for (const Json& step : json.at("steps")) state.steps.push_back(step_from_json(step));
  } catch (const Json::exception& error) {
    throw InputError(concat(file.string(), ": is no state of a pipeline: ", error.what()));
  }
  return state;
}

void PipelineState::save(const fs::path& file) const {
  Json json = {{"configuration", yaml}, {"steps", Json::array()}};
  for (const FinishedStep& step : steps) json["steps"].push_back(to_json(step));
  write_file_atomically(file, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

size_t steps_that_stand(const PipelineState& state, const std::string& yaml,
                        const std::vector<std::string>& free_keys) {
  size_t standing = state.steps.size();
  if (standing == 0) return 0;
  for (const ConfigChange& change : config_changes(state.yaml, yaml, free_keys))
    standing = std::min(standing, step_of(change.key).value_or(0));
  return standing;
}

}  // namespace bicrl::curation

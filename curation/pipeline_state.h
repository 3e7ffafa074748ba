// State file of a curation pipeline, DIR/state.json: the steps that have been taken to their end. Plain
// values.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bicrl::curation {

struct StepCounts {
  int64_t in = 0;
  int64_t out = 0;
  std::map<std::string, int64_t> reasons;  // why records left
  int64_t dropped() const;
};

// A step that has come to its end.
struct FinishedStep {
  std::string name;
  StepCounts counts;
  std::string records_hash;       // of its output
  nlohmann::ordered_json inputs;  // Step::inputs() when it ran
  nlohmann::ordered_json card;    // Step::card() at its end
};

struct PipelineState {
  std::string yaml;  // the resolved configuration that the steps were taken under
  std::vector<FinishedStep> steps;

  // Empty if there is none. Throws InputError on a file that is none of ours.
  static PipelineState load(const std::filesystem::path& file);
  void save(const std::filesystem::path& file) const;
};

// How many of the finished steps still stand under `yaml`: those before the first that has another parameter,
// or all of which another section of the configuration says something else. `free_keys` decide nothing.
size_t steps_that_stand(const PipelineState& state, const std::string& yaml,
                        const std::vector<std::string>& free_keys);

}  // namespace bicrl::curation

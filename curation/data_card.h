// The data card of a finished pipeline: counts, distributions, versions, hashes and licences of its data.
// Pure functions but for the records that they read.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "curation/pipeline_state.h"

namespace bicrl::curation {

struct DataCard {
  nlohmann::ordered_json json;
};

// Of a pipeline whose steps have all come to their end; `records` is the output of the last one. The same
// steps give the same card: it holds no time.
DataCard make_data_card(const PipelineState& state, const std::string& yaml,
                        const std::filesystem::path& records);

// As Markdown.
std::string card_text(const DataCard& card);

// A line for each step: records in and out, and why records left.
std::string step_table(const std::vector<FinishedStep>& steps);

}  // namespace bicrl::curation

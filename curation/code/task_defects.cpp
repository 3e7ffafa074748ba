#include "curation/code/task_defects.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace bicrl::curation {

const std::vector<std::string>& defect_names() {
  static const std::vector<std::string> kNames = {
      "raises",          "random",       "not_finite",       "narrow_output", "constant_axis",
      "constant_output", "unused_input", "unused_parameter", "fixed_input",   "mode_difference",
      "trivial",         "redundant",    "duplicate"};
  return kNames;
}

TaskExamination examination_of(const nlohmann::json& answer) try {
  TaskExamination found;
  if (answer.contains("failed")) {
    found.failure = answer.at("kind").get<std::string>();
    found.failure_message = answer.at("failed").get<std::string>();
    return found;
  }
  for (const auto& defect : answer.at("defects")) {
    found.defects.push_back({defect.at("kind").get<std::string>(), defect.at("message").get<std::string>()});
    if (std::ranges::find(defect_names(), found.defects.back().kind) == defect_names().end())
      throw InputError(concat("a box found what is no defect: ", found.defects.back().kind));
  }
  found.unchecked = answer.at("unchecked").get<std::vector<std::string>>();
  found.fingerprints = answer.at("fingerprints").get<std::vector<std::string>>();
  return found;
} catch (const nlohmann::json::exception& error) {
  throw InputError(concat("a box gave no examination: ", error.what()));
}

}  // namespace bicrl::curation

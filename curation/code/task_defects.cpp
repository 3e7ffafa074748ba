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

namespace {

TaskExamination read_examination(const nlohmann::json& answer) {
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
}

TaskExamination crashed(const std::string& message) {
  TaskExamination examination;
  examination.failure = "crash";
  examination.failure_message = message;
  return examination;
}

}  // namespace

nlohmann::json examination_request(const std::string& code, const std::string& reduced_sizes) {
  nlohmann::json request = {{"kind", "examine"}, {"code", code}};
  if (!reduced_sizes.empty()) request["reduced_sizes"] = nlohmann::json::parse(reduced_sizes);
  return request;
}

TaskExamination examination_of(const nlohmann::json& answer) {
  try {
    return read_examination(answer);
  } catch (const nlohmann::json::exception& error) {
    return crashed(concat("a box gave no examination: ", error.what()));
  } catch (const InputError& error) {
    return crashed(error.what());
  }
}

void KnownFunctions::mark_duplicate(const std::string& task, TaskExamination& examination) const {
  for (const std::string& fingerprint : examination.fingerprints)
    if (const auto found = first_task_.find(fingerprint);
        found != first_task_.end() && found->second != task) {
      examination.defects.push_back({"duplicate", "computes the same function as " + found->second});
      return;
    }
}

void KnownFunctions::add(const std::string& task, const TaskExamination& examination) {
  for (const std::string& fingerprint : examination.fingerprints) first_task_.emplace(fingerprint, task);
}

}  // namespace bicrl::curation

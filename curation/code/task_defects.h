// Defects that a task's reference may have (curation/runtimes/task_checks.py finds them). Pure functions.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace bicrl::curation {

// "raises", "random", ... "duplicate"; docs/curation.md says what each means.
const std::vector<std::string>& defect_names();

struct TaskExamination {
  struct Defect {
    std::string kind, message;
  };
  std::vector<Defect> defects;
  std::vector<std::string> unchecked;     // what could not be looked for in time: "redundancy", "parameters"
  std::vector<std::string> fingerprints;  // of the function; equal ones mean equal functions
  std::string failure;  // why the code cannot be examined at all: "timeout", "too_large", "crash"
  std::string failure_message;
};

// From a box's answer to {"kind": "examine"}; what a box says is not trusted. Throws InputError if it is
// none.
TaskExamination examination_of(const nlohmann::json& answer);

}  // namespace bicrl::curation

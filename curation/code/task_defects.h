// Defects that a task's reference may have (curation/runtimes/task_checks.py finds them). Not thread-safe.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
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

// The question. `reduced_sizes`: of the task, given by hand; may be empty.
nlohmann::json examination_request(const std::string& code, const std::string& reduced_sizes);

// From a box's answer to {"kind": "examine"}. What a box says is not trusted: what is no examination is the
// failure "crash".
TaskExamination examination_of(const nlohmann::json& answer);

// The functions of tasks that were examined, to find tasks that compute the same.
class KnownFunctions {
 public:
  // Adds the defect `duplicate` if another task's function is equal.
  void mark_duplicate(const std::string& task, TaskExamination& examination) const;
  // The first task with a function stays the one that is named.
  void add(const std::string& task, const TaskExamination& examination);

 private:
  std::unordered_map<std::string, std::string> first_task_;  // by fingerprint
};

}  // namespace bicrl::curation

// One entry of a task file and the Task it stands for: the published forms, distinguished by their fields.
//   infilling    id, pytorch_code, cuda_code, prefix, middle, suffix
//   end to end   idx (or id), level (integer, also as text), pytorch_code, cuda_code (may be empty or absent)
//   KernelBench  level, problem_id, name, pytorch_code (or code, as on the hub); its Task::id is
//   "level_<level>_problem_<problem_id>"
// Any form may have `composition`, a list of names, `reduced_sizes`, a list of objects of whole numbers
// (Task), and `alternatives`, a list of further correct programs from expensive to cheap: technique (may be
// absent), cuda_code, and prefix, middle, suffix or none of the three. Fields that no form knows are ignored.
// Pure functions.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

#include "common/error.h"
#include "tasks/task.h"

namespace bicrl {

enum class TaskForm { kInfilling, kEndToEnd, kKernelBench };

struct FieldError {
  std::string field;  // empty if the entry as a whole is at fault
  std::string reason;
};

TaskForm detect_task_form(const nlohmann::json& entry);

std::variant<Task, FieldError> parse_task_entry(const nlohmann::json& entry);

// Task::reduced_sizes of an entry's field of that name, or what is wrong with it.
Result<std::string> reduced_sizes_of(const nlohmann::json& field);

// In the published form: infilling if the task has a scaffold, else end to end. Level, composition and
// alternatives are written if known, so that parse_task_entry gives the equal Task back (without its source).
nlohmann::ordered_json task_to_entry(const Task& task);

}  // namespace bicrl

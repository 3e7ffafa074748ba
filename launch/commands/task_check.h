// `bicrl tasks --check`: runs the reference of every task once, as a verifier would, and lists the tasks
// whose verdicts would say little or which have no answers at all.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "sandbox/verifier/pipeline.h"
#include "tasks/task.h"

namespace bicrl {

// Writes a line for each fault, and of each task that is too large what it is at its own size and at which
// smaller ones it is graded, and whether the backend's device judges it at its own; then how many tasks were
// looked at. Returns the tasks, those that are too large at the first of their smaller sizes. Throws
// Error(kUnavailable) if boxes cannot be made here.
std::vector<Task> check_tasks(const std::string& name, const std::vector<Task>& tasks,
                              const PipelineOptions& options, std::ostream& out);

}  // namespace bicrl

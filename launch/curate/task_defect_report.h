// The task filter's part of `bicrl tasks --check`.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "sandbox/verifier/pipeline.h"
#include "tasks/task.h"

namespace bicrl {

// Examines every task in boxes (curation/code/task_defects.h); writes a line for each defect, then how many
// tasks have one. Throws Error(kUnavailable) if boxes cannot be made here.
void report_task_defects(const std::string& name, const std::vector<Task>& tasks,
                         const PipelineOptions& options, std::ostream& out);

}  // namespace bicrl

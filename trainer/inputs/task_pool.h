// The tasks of a run: loaded from files or synthesised, with those each stage can use.
//
// How this folder works: run_inputs.h is what a run reads; task_source.h and policy_source.h are the sections
// `tasks` and `policy` of a configuration and load what they name (existing_path.h finds files);
// prompt_filter.h leaves out what does not fit the policy.
#pragma once
#include <vector>

#include "tasks/task.h"
#include "trainer/inputs/task_source.h"

namespace bicrl {

// Immutable after loading. Every rank loads its own, and all are equal.
struct TaskPool {
  std::vector<Task> train;
  std::vector<Task> held_out;

  // Throws InputError for broken entries if the source is strict; otherwise reports them as warnings.
  static TaskPool load(const TaskSource& source);
  // Those of `train` that the stage can prompt for. Throws InputError if there is none.
  std::vector<Task> usable(Stage stage) const;
};

}  // namespace bicrl

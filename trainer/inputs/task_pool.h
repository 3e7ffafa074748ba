// The tasks of a run: loaded from files or synthesised, with those each stage can use.
//
// How this folder works: task_source.h, policy_source.h and pair_source.h are the sections `tasks`, `policy`
// and `warm_up.pairs` of a configuration and load what they name (existing_path.h finds files, task_files.h
// reads those of tasks); pair_epochs.h divides passes over pairs into steps; prompt_filter.h leaves out what
// does not fit the policy.
#pragma once
#include <string>
#include <vector>

#include "tasks/task.h"
#include "trainer/inputs/task_source.h"

namespace bicrl {

// All that a source has, by the name of the part: train, development and test of synthesised tasks, train and
// held_out of files. Throws as TaskPool::load() does.
struct TaskSplit {
  std::string name;
  std::vector<Task> tasks;
};
std::vector<TaskSplit> load_splits(const TaskSource& source);

// Immutable after loading. Every rank loads its own, and all are equal.
struct TaskPool {
  std::vector<Task> train;
  std::vector<Task> held_out;  // of synthesised tasks those that the source's `split` names

  // Throws InputError for broken entries if the source is strict; otherwise reports them as warnings.
  static TaskPool load(const TaskSource& source);
  // Those of `train` that the stage can prompt for, of all files or of those that `sources` names. Throws
  // InputError if there is none.
  std::vector<Task> usable(Stage stage, const std::vector<std::string>& sources = {}) const;
};

}  // namespace bicrl

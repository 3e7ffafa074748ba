#include "trainer/inputs/task_pool.h"

#include <algorithm>

#include "common/log.h"
#include "trainer/inputs/task_files.h"

namespace bicrl {
namespace {

std::vector<TaskSplit> load_files(const TaskSource& source) {
  LoadedFiles loaded = load_task_files(source.train_files, source.held_out_files, source.strict, source.use);
  if (const std::string overlap = overlap_of(loaded.train, loaded.held_out); !overlap.empty()) {
    if (!source.allow_overlap)
      throw InputError(concat("tasks.held_out: ", overlap,
                              ". What the run would measure on them, it was trained on: take them out of one "
                              "of the files, or set tasks.allow_overlap: true"));
    log_warning(overlap, " (tasks.allow_overlap)");
  }
  return {{"train", std::move(loaded.train)}, {"held_out", std::move(loaded.held_out)}};
}

}  // namespace

std::vector<TaskSplit> load_splits(const TaskSource& source) {
  if (!source.synthetic) return load_files(source);
  SyntheticTasks made = synthesise(*source.synthetic);
  return {{to_string(SyntheticSplit::kTrain), std::move(made.train)},
          {to_string(SyntheticSplit::kDevelopment), std::move(made.development)},
          {to_string(SyntheticSplit::kTest), std::move(made.test)}};
}

TaskPool TaskPool::load(const TaskSource& source) {
  std::vector<TaskSplit> splits = load_splits(source);
  const std::string held_out = source.synthetic ? to_string(source.split) : "held_out";
  TaskPool pool;
  for (const TaskSplit& split : splits)
    if (split.name == held_out) pool.held_out = split.tasks;
  pool.train = std::move(splits.front().tasks);
  return pool;
}

std::vector<Task> TaskPool::usable(Stage stage, const std::vector<std::string>& sources) const {
  std::vector<Task> tasks;
  for (const Task& task : train) {
    const bool is_asked = sources.empty() || std::ranges::find(sources, task.source) != sources.end();
    if (is_asked && (stage == Stage::kEndToEnd || task.has_scaffold())) tasks.push_back(task);
  }
  if (tasks.empty())
    throw InputError(concat("no training task",
                            sources.empty() ? "" : " of the files that stages[].tasks names",
                            " can be used in the ", to_string(stage), " stage",
                            stage == Stage::kInfilling ? ": none has prefix, middle and suffix" : ""));
  return tasks;
}

}  // namespace bicrl

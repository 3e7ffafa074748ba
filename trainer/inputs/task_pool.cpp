#include "trainer/inputs/task_pool.h"

#include <set>

#include "common/log.h"
#include "tasks/task_set.h"

namespace bicrl {
namespace {

std::vector<Task> load_files(const std::vector<std::filesystem::path>& files, const TaskSource& source) {
  std::vector<Task> tasks;
  std::set<std::string> ids;
  for (const auto& file : files) {
    std::vector<Task> loaded;
    if (source.strict) {
      loaded = load_tasks(file, source.use);
    } else {
      TaskSet set = load_task_set(file, source.use);
      for (const EntryError& error : set.errors) log_warning("left out: ", error.message());
      loaded = std::move(set.tasks);
    }
    for (Task& task : loaded) {
      if (!ids.insert(task.id).second)
        throw InputError(
            concat(file.string(), ": task id '", task.id, "' occurs in an earlier file as well"));
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

}  // namespace

std::vector<TaskSplit> load_splits(const TaskSource& source) {
  if (!source.synthetic)
    return {{"train", load_files(source.train_files, source)},
            {"held_out", load_files(source.held_out_files, source)}};
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

std::vector<Task> TaskPool::usable(Stage stage) const {
  std::vector<Task> tasks;
  for (const Task& task : train)
    if (stage == Stage::kEndToEnd || task.has_scaffold()) tasks.push_back(task);
  if (tasks.empty())
    throw InputError(concat("no training task can be used in the ", to_string(stage), " stage",
                            stage == Stage::kInfilling ? ": none has prefix, middle and suffix" : ""));
  return tasks;
}

}  // namespace bicrl

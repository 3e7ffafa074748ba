#include "tasks/task_set.h"

#include <unordered_map>
#include <utility>

#include "common/error.h"
#include "common/files/files.h"
#include "common/files/named_file.h"
#include "common/json_entries.h"
#include "tasks/prompt.h"
#include "tasks/task_entry.h"

namespace bicrl {
namespace {

using nlohmann::json;

class SetBuilder {
 public:
  SetBuilder(std::string file, TaskUse use) : file_(std::move(file)), use_(use) {}

  void add(size_t entry, const json& value) {
    ++seen_;
    auto parsed = parse_task_entry(value);
    if (auto* error = std::get_if<FieldError>(&parsed)) return fail(entry, error->field, error->reason);
    Task& task = std::get<Task>(parsed);
    const auto [first, fresh] = entry_of_id_.emplace(task.id, entry);
    if (!fresh) return fail(entry, "id", concat("'", task.id, "' is taken by entry ", first->second));
    if (const FieldError problem = clamp_error(task); !problem.reason.empty()) {
      if (use_ == TaskUse::kClampedInfilling) return fail(entry, problem.field, problem.reason);
      set_.not_clampable.push_back({file_, entry, problem.field, problem.reason});
    }
    set_.tasks.push_back(std::move(task));
  }
  void fail_entry(size_t entry, const std::string& reason) {
    ++seen_;
    fail(entry, "", reason);
  }
  TaskSet finish() {
    if (seen_ == 0) throw InputError(concat(file_, ": holds no task"));
    return std::move(set_);
  }

 private:
  // Infilling asks for each program with a scaffold within its own.
  static FieldError clamp_error(const Task& task) {
    FieldError error{"middle", task.has_scaffold() ? clamp_problem(task.middle) : ""};
    for (size_t i = 0; i < task.alternatives.size() && error.reason.empty(); ++i)
      if (task.alternatives[i].has_scaffold())
        error = {concat("alternatives[", i, "].middle"), clamp_problem(task.alternatives[i].middle)};
    return error;
  }

  void fail(size_t entry, const std::string& field, const std::string& reason) {
    set_.errors.push_back({file_, entry, field, reason});
  }

  std::string file_;
  TaskUse use_;
  TaskSet set_;
  std::unordered_map<std::string, size_t> entry_of_id_;
  size_t seen_ = 0;
};

}  // namespace

std::string EntryError::message() const {
  return concat(file, ": entry ", entry, ": ", field, field.empty() ? "" : ": ", reason);
}

TaskSet parse_task_set(std::string_view text, const std::string& file, TaskUse use) {
  SetBuilder builder(file, use);
  read_json_entries(
      text, file,
      {.take = [&](size_t entry, const json& value) { builder.add(entry, value); },
       .broken = [&](size_t entry, const std::string& reason) { builder.fail_entry(entry, reason); }});
  return builder.finish();
}

TaskSet load_task_set(const std::filesystem::path& path, TaskUse use) {
  return parse_task_set(read_file(path), path.string(), use);
}

std::vector<Task> load_tasks(const std::filesystem::path& path, TaskUse use) {
  TaskSet set = load_task_set(path, use);
  if (set.errors.empty()) return std::move(set.tasks);
  std::vector<std::string> messages;
  for (const EntryError& error : set.errors) messages.push_back(error.message());
  throw InputError(joined_entry_errors(messages));
}

std::string tasks_to_json(const std::vector<Task>& tasks) {
  auto list = nlohmann::ordered_json::array();
  for (const Task& task : tasks) list.push_back(task_to_entry(task));
  return list.dump(2) + "\n";
}

std::string tasks_to_json_lines(const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& task : tasks) text += task_to_entry(task).dump() + "\n";
  return text;
}

void save_tasks(const std::filesystem::path& path, const std::vector<Task>& tasks) {
  write_named_file(path, path.extension() == ".jsonl" ? tasks_to_json_lines(tasks) : tasks_to_json(tasks));
}

}  // namespace bicrl

// Task files: JSON lists and JSON lines in the published forms (see tasks/task_entry.h), read and written.
// Free functions without state; safe from any thread.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/task.h"

namespace bicrl {

// Why one entry was left out. Entries count from 1; in JSON lines the entry's number is its line.
struct EntryError {
  std::string file;
  size_t entry = 0;
  std::string field;  // empty if the entry as a whole is at fault
  std::string reason;

  std::string message() const;  // "tasks.json: entry 3: middle: is missing"
};

// What a file held: the good tasks in their order, with unique ids, and every entry that was left out.
struct TaskSet {
  std::vector<Task> tasks;
  std::vector<EntryError> errors;
  // Of tasks that are there: an infilling stage with a clamped scaffold (tasks/prompt.h) refuses them.
  std::vector<EntryError> not_clampable;
};

// What the tasks are for. An entry that cannot serve is broken.
enum class TaskUse { kAny, kClampedInfilling };

// Lenient: broken entries become errors. Throws InputError only if the file as a whole cannot be used (not
// readable, not JSON, no entry at all).
TaskSet load_task_set(const std::filesystem::path& path, TaskUse use = TaskUse::kAny);
TaskSet parse_task_set(std::string_view text, const std::string& file, TaskUse use = TaskUse::kAny);

// Strict: throws InputError that names every broken entry (the first ten of them in full).
std::vector<Task> load_tasks(const std::filesystem::path& path, TaskUse use = TaskUse::kAny);

// Files are replaced atomically, links followed. A JSON list is what the published sets are; JSON lines suit
// appending tools.
std::string tasks_to_json(const std::vector<Task>& tasks);
std::string tasks_to_json_lines(const std::vector<Task>& tasks);
// By the ending: ".jsonl" is written as JSON lines, anything else as a JSON list.
void save_tasks(const std::filesystem::path& path, const std::vector<Task>& tasks);

}  // namespace bicrl

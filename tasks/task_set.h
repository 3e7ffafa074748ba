// Task files: JSON lists and JSON lines in the published forms (see tasks/task_record.h), read and written.
// Free functions without state; safe from any thread.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/task.h"

namespace bicrl {

// Why one record was left out. Records count from 1; in JSON lines the record's number is its line.
struct RecordError {
  std::string file;
  size_t record = 0;
  std::string field;  // empty where the record as a whole is at fault
  std::string reason;

  std::string message() const;  // "tasks.json: record 3: middle: is missing"
};

// What a file held: the good tasks in their order, with unique ids, and every record that was left out.
struct TaskSet {
  std::vector<Task> tasks;
  std::vector<RecordError> errors;
};

// Lenient: broken records become errors. Throws InputError only where the file as a whole cannot be used (not
// readable, not JSON, no record at all).
TaskSet load_task_set(const std::filesystem::path& path);
TaskSet parse_task_set(std::string_view text, const std::string& file);

// Strict: throws InputError that names every broken record (the first ten of them in full).
std::vector<Task> load_tasks(const std::filesystem::path& path);

// Files are replaced atomically. A JSON list is what the published sets are; JSON lines suit appending tools.
std::string tasks_to_json(const std::vector<Task>& tasks);
std::string tasks_to_json_lines(const std::vector<Task>& tasks);
// By the ending: ".jsonl" is written as JSON lines, anything else as a JSON list.
void save_tasks(const std::filesystem::path& path, const std::vector<Task>& tasks);

}  // namespace bicrl

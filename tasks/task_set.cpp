#include "tasks/task_set.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "common/error.h"
#include "common/files.h"
#include "common/json.h"
#include "tasks/task_entry.h"

namespace bicrl {
namespace {

using nlohmann::json;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlank = " \t\r\n";
constexpr size_t kErrorsNamed = 10;

class SetBuilder {
 public:
  explicit SetBuilder(std::string file) : file_(std::move(file)) {}

  void add(size_t entry, const json& value) {
    ++seen_;
    auto parsed = parse_task_entry(value);
    if (auto* error = std::get_if<FieldError>(&parsed)) return fail(entry, error->field, error->reason);
    Task& task = std::get<Task>(parsed);
    const auto [first, fresh] = entry_of_id_.emplace(task.id, entry);
    if (!fresh) return fail(entry, "id", concat("'", task.id, "' is taken by entry ", first->second));
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
  void fail(size_t entry, const std::string& field, const std::string& reason) {
    set_.errors.push_back({file_, entry, field, reason});
  }

  std::string file_;
  TaskSet set_;
  std::unordered_map<std::string, size_t> entry_of_id_;
  size_t seen_ = 0;
};

void add_list(std::string_view text, const std::string& file, SetBuilder& builder) {
  const auto list = try_parse_json(text);
  if (!list) throw InputError(concat(file, ": is not JSON: ", list.reason()));
  size_t entry = 0;
  for (const auto& value : list.value()) builder.add(++entry, value);
}

void add_lines(std::string_view text, SetBuilder& builder) {
  size_t line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.find_first_not_of(kBlank) == line.npos) continue;
    if (const auto entry = try_parse_json(line))
      builder.add(line_number, entry.value());
    else
      builder.fail_entry(line_number, concat("is not JSON: ", entry.reason()));
  }
}

}  // namespace

std::string EntryError::message() const {
  return concat(file, ": entry ", entry, ": ", field, field.empty() ? "" : ": ", reason);
}

TaskSet parse_task_set(std::string_view text, const std::string& file) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  SetBuilder builder(file);
  const size_t start = text.find_first_not_of(kBlank);
  const char opening = start == text.npos ? '\0' : text[start];
  if (opening == '[') {
    add_list(text, file, builder);
  } else if (opening == '{') {
    add_lines(text, builder);
  } else if (opening != '\0') {
    throw InputError(concat(file, ": is neither a JSON list nor JSON lines"));
  }
  return builder.finish();
}

TaskSet load_task_set(const std::filesystem::path& path) {
  return parse_task_set(read_file(path), path.string());
}

std::vector<Task> load_tasks(const std::filesystem::path& path) {
  TaskSet set = load_task_set(path);
  if (set.errors.empty()) return std::move(set.tasks);
  std::string message;
  for (size_t i = 0; i < std::min(set.errors.size(), kErrorsNamed); ++i)
    message += (i > 0 ? "\n" : "") + set.errors[i].message();
  if (set.errors.size() > kErrorsNamed)
    message += concat("\n... and ", set.errors.size() - kErrorsNamed, " more broken entries");
  throw InputError(message);
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
  write_file_atomically(path,
                        path.extension() == ".jsonl" ? tasks_to_json_lines(tasks) : tasks_to_json(tasks));
}

}  // namespace bicrl

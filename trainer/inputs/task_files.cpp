#include "trainer/inputs/task_files.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "common/error.h"
#include "common/log.h"
#include "tasks/task_set.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

// The last `parts` parts of a path, without the ending.
std::string tail_of(const fs::path& path, size_t parts) {
  std::vector<std::string> all;
  for (const fs::path& part : path.parent_path() / path.stem()) all.push_back(part.string());
  std::string tail;
  for (size_t i = all.size() - std::min(parts, all.size()); i < all.size(); ++i)
    tail += (tail.empty() || tail == "/" ? "" : "/") + all[i];
  return tail;
}

std::vector<Task> load_file(const fs::path& file, const std::string& name, bool strict, TaskUse use) {
  std::vector<Task> tasks;
  if (strict) {
    tasks = load_tasks(file, use);
  } else {
    TaskSet set = load_task_set(file, use);
    for (const EntryError& error : set.errors) log_warning("left out: ", error.message());
    tasks = std::move(set.tasks);
  }
  for (Task& task : tasks) task.qualify(name);
  return tasks;
}

std::string without_white_space(const std::string& text) {
  std::string kept;
  for (const char c : text)
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') kept += c;
  return kept;
}

}  // namespace

std::vector<std::string> task_file_names(const std::vector<fs::path>& files) {
  std::vector<fs::path> whole;
  for (const fs::path& file : files) whole.push_back(fs::weakly_canonical(file));
  std::vector<std::string> names;
  for (size_t i = 0; i < whole.size(); ++i) {
    const auto is_shared = [&](const std::string& name, size_t parts) {
      return std::ranges::any_of(
          whole, [&](const fs::path& other) { return other != whole[i] && tail_of(other, parts) == name; });
    };
    std::string name = tail_of(whole[i], 1);
    const auto depth = static_cast<size_t>(std::distance(whole[i].begin(), whole[i].end()));
    for (size_t parts = 2; is_shared(name, parts - 1) && parts <= depth; ++parts)
      name = tail_of(whole[i], parts);
    // What differs in the ending alone keeps it.
    if (is_shared(name, depth)) name += whole[i].extension().string();
    names.push_back(std::move(name));
  }
  return names;
}

LoadedFiles load_task_files(const std::vector<fs::path>& train, const std::vector<fs::path>& held_out,
                            bool strict, TaskUse use) {
  std::vector<fs::path> all = train;
  all.insert(all.end(), held_out.begin(), held_out.end());
  const std::vector<std::string> names = task_file_names(all);
  LoadedFiles loaded;
  std::set<std::string> seen;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == train.size()) seen.clear();
    std::vector<Task>& into = i < train.size() ? loaded.train : loaded.held_out;
    if (!seen.insert(names[i]).second)
      throw InputError(
          concat(i < train.size() ? "tasks.train" : "tasks.held_out", " names ", all[i].string(), " twice"));
    std::vector<Task> tasks = load_file(all[i], names[i], strict, use);
    into.insert(into.end(), std::make_move_iterator(tasks.begin()), std::make_move_iterator(tasks.end()));
  }
  return loaded;
}

std::string overlap_of(const std::vector<Task>& train, const std::vector<Task>& held_out) {
  std::unordered_map<std::string, const Task*> by_text;
  for (const Task& task : train) by_text.emplace(without_white_space(task.pytorch_code), &task);
  size_t shared = 0;
  std::string example;
  for (const Task& task : held_out) {
    const auto found = by_text.find(without_white_space(task.pytorch_code));
    if (found == by_text.end()) continue;
    if (shared++ == 0)
      example = task.id == found->second->id
                    ? concat("of the file ", task.source, ", which is among both")
                    : concat("for example ", task.id, ", whose module is that of ", found->second->id);
  }
  if (shared == 0) return "";
  return concat(shared, " of ", held_out.size(), " held-out tasks are training tasks as well: ", example);
}

}  // namespace bicrl

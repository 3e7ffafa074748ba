#include "curation/inputs/task_index.h"

#include "common/error.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;

bool ends_with_parts(const std::string& path, const std::string& name) {
  if (name.empty() || !path.ends_with(name)) return false;
  return path.size() == name.size() || name.front() == '/' || path[path.size() - name.size() - 1] == '/';
}

// Whether a run may call the file so.
bool may_be_named(const fs::path& whole, const std::string& name) {
  return ends_with_parts((whole.parent_path() / whole.stem()).string(), name) ||
         ends_with_parts(whole.string(), name);
}

}  // namespace

void TaskIndex::add(const fs::path& file, const std::string& id, Record task) {
  if (files_.empty() || files_.back().path != file)
    files_.push_back({.path = file, .whole = fs::weakly_canonical(file), .tasks = {}});
  files_.back().tasks.emplace(id, std::move(task));
}

std::vector<const Record*> TaskIndex::all_of(const std::string& id) const {
  std::vector<const Record*> found;
  for (const File& file : files_) {
    const auto look_up = [&, &file = file](const std::string& own_id) {
      if (const auto task = file.tasks.find(own_id); task != file.tasks.end()) found.push_back(&task->second);
    };
    look_up(id);
    for (size_t colon = id.find(':'); colon != id.npos; colon = id.find(':', colon + 1))
      if (may_be_named(file.whole, id.substr(0, colon))) look_up(id.substr(colon + 1));
  }
  return found;
}

const Record& TaskIndex::find(const std::string& id) const {
  const std::vector<const Record*> found = all_of(id);
  if (found.empty()) throw InputError(concat("'tasks' has no task '", id, "'"));
  for (const Record* other : found)
    if (other->pytorch_code != found.front()->pytorch_code)
      throw InputError(concat("files of 'tasks' have different tasks '", id, "'"));
  return *found.front();
}

}  // namespace bicrl::curation

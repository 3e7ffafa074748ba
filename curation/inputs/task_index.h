// Tasks by the ids that answers name them by. Not thread-safe.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "curation/record.h"

namespace bicrl::curation {

// An answer names its task as the task's file does ("74"), or as runs do: behind the file's name, or the last
// parts of its path ("kernel_infilling:74", "sets/train:74"; trainer/inputs/task_files.h).
class TaskIndex {
 public:
  // Of equal ids in one file the first counts.
  void add(const std::filesystem::path& file, const std::string& id, Record task);
  bool empty() const { return files_.empty(); }
  // Throws InputError if no file has it, or if several have different tasks of that id.
  const Record& find(const std::string& id) const;

 private:
  struct File {
    std::filesystem::path path, whole;
    std::map<std::string, Record> tasks;  // by their own ids
  };
  std::vector<const Record*> all_of(const std::string& id) const;

  std::vector<File> files_;
};

}  // namespace bicrl::curation

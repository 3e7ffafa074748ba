// Tasks with known defects (tests/curation/labelled/README.md).
#pragma once
#include <string>
#include <vector>

namespace bicrl::curation {

struct LabelledTask {
  std::string folder, name;          // "folder/name" in the file
  std::vector<std::string> defects;  // that must be found; empty: the task is sound
  std::string code;
};

// Of tests/curation/labelled/NAME.tasks.
std::vector<LabelledTask> labelled_tasks(const std::string& name);

}  // namespace bicrl::curation

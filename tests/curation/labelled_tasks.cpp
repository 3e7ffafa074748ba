#include "tests/curation/labelled_tasks.h"

#include <sstream>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

constexpr const char* kHead = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n";
constexpr const char* kMark = "# task: ";

LabelledTask parse_head(const std::string& line) {
  LabelledTask task;
  std::istringstream words(line.substr(std::string(kMark).size()));
  std::string word, field;
  words >> task.name;
  task.folder = task.name.substr(0, task.name.find('/'));
  while (words >> word) {
    if (word == "|") continue;
    if (word.back() == ':')
      field = word;
    else if (field == "defects:")
      task.defects.push_back(word);
  }
  return task;
}

void complete(LabelledTask& task) {
  if (task.code.find("import torch\n") == task.code.npos) task.code = kHead + task.code;
  if (task.code.find("def get_init_inputs") == task.code.npos)
    task.code += "\ndef get_init_inputs():\n    return []\n";
}

}  // namespace

std::vector<LabelledTask> labelled_tasks(const std::string& name) {
  std::istringstream lines(
      read_file(testing::source_path(concat("tests/curation/labelled/", name, ".tasks"))));
  std::vector<LabelledTask> tasks;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kMark))
      tasks.push_back(parse_head(line));
    else if (!tasks.empty())
      tasks.back().code += line + "\n";
  }
  for (LabelledTask& task : tasks) complete(task);
  return tasks;
}

}  // namespace bicrl::curation

#include "launch/curate/task_defect_report.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "curation/code/box_code_reader.h"
#include "curation/code/task_defects.h"

namespace bicrl {
namespace {

using curation::TaskExamination;

// Of all tasks, in their order.
std::vector<TaskExamination> examine(const std::vector<Task>& tasks, curation::CodeReader& reader) {
  std::vector<TaskExamination> found(tasks.size());
  for (size_t done = 0, asked = 0; done < tasks.size();) {
    for (; asked < tasks.size() && asked - done < reader.capacity(); ++asked)
      reader.submit(&found, asked, curation::examination_request(tasks[asked].pytorch_code, ""));
    if (const auto answer = reader.next(&found, curation::Milliseconds(1000))) {
      found[answer->number] = curation::examination_of(answer->value);
      ++done;
    }
  }
  return found;
}

}  // namespace

void report_task_defects(const std::string& name, const std::vector<Task>& tasks,
                         const PipelineOptions& options, std::ostream& out) {
  curation::BoxOptions boxes;
  boxes.python = options.python;
  boxes.bwrap = options.bwrap;
  curation::BoxCodeReader reader(boxes);
  std::vector<TaskExamination> examinations = examine(tasks, reader);
  curation::KnownFunctions known;
  std::map<std::string, size_t> by_kind;
  size_t defective = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    TaskExamination& examination = examinations[i];
    if (!examination.failure.empty())
      examination.defects.push_back({"not examined: " + examination.failure, examination.failure_message});
    known.mark_duplicate(tasks[i].id, examination);
    known.add(tasks[i].id, examination);
    defective += !examination.defects.empty();
    for (const auto& [kind, message] : examination.defects) {
      ++by_kind[kind];
      out << name << " " << tasks[i].id << "  defect " << kind << ": " << message << std::endl;
    }
  }
  out << name << ": " << defective << " of " << tasks.size() << " tasks have a defect";
  for (const auto& [kind, count] : by_kind)
    out << (kind == by_kind.begin()->first ? ": " : ", ") << kind << " " << count;
  out << "\n";
}

}  // namespace bicrl

#include "launch/task_check.h"

#include <deque>
#include <map>

#include "sandbox/oracle/oracle.h"

namespace bicrl {
namespace {

constexpr size_t kOpenAhead = 8;  // references asked for before the first of them has answered

std::vector<InvalidTask> faults_of(OracleTask& opened) {
  if (const auto answers = opened.answers()) return answers->faults;
  const OracleFailure failure = opened.failure();
  if (!failure.invalid_task) throw Error("the oracle failed: " + failure.reason, ExitCode::kUnavailable);
  return {{failure.kind, failure.reason}};
}

}  // namespace

size_t check_tasks(const std::string& name, const std::vector<Task>& tasks, const PipelineOptions& options,
                   std::ostream& out) {
  BoxHost host(options.bwrap);
  const PythonInstall python = PythonInstall::find(options.python);
  Oracle oracle(host, python, options.oracle);
  std::map<std::string, size_t> by_kind;
  size_t faulty = 0;
  std::deque<std::shared_ptr<OracleTask>> ahead;
  for (size_t i = 0, next = 0; i < tasks.size(); ++i) {
    for (; next < tasks.size() && ahead.size() < kOpenAhead; ++next)
      ahead.push_back(oracle.open(tasks[next].pytorch_code, kDrawKinds));
    auto faults = faults_of(*ahead.front());
    const auto spec = ahead.front()->spec();
    ahead.pop_front();
    if (spec && spec->has_costing_inputs)
      for (InvalidTask& fault :
           faults_of(*oracle.open(tasks[i].pytorch_code, draw_kinds(TaskSize::kCosted), TaskSize::kCosted)))
        faults.push_back({std::move(fault.kind), "on get_costing_inputs(): " + fault.message});
    faulty += !faults.empty();
    for (const InvalidTask& fault : faults) {
      ++by_kind[fault.kind];
      out << name << " " << tasks[i].id << "  " << fault.kind << ": " << fault.message << std::endl;
    }
  }
  out << name << ": " << faulty << " of " << tasks.size() << " tasks have a fault";
  for (const auto& [kind, count] : by_kind)
    out << (kind == by_kind.begin()->first ? ": " : ", ") << kind << " " << count;
  out << "\n";
  return faulty;
}

}  // namespace bicrl

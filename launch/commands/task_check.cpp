#include "launch/commands/task_check.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>

#include "sandbox/oracle/oracle.h"

namespace bicrl {
namespace {

constexpr size_t kOpenAhead = 8;  // references asked for before the first of them has answered

std::vector<InvalidTask> faults_of(OracleTask& opened) {
  if (const auto answers = opened.answers()) return answers->faults;
  const OracleFailure failure = opened.failure();
  if (!failure.will_recur()) throw Error("the oracle failed: " + failure.reason, ExitCode::kUnavailable);
  return {{failure.kind, failure.reason}};
}

std::string mebibytes(uint64_t bytes) {
  return bytes < uint64_t{10} << 20 ? concat(bytes >> 10, " KiB") : concat(bytes >> 20, " MiB");
}

std::string operations(double count) {
  char text[32];
  snprintf(text, sizeof text, "%.1e", count);
  return text;
}

bool is_gradable_at(OracleTask& opened, const std::vector<InvalidTask>& faults) {
  return opened.answers() && std::ranges::none_of(faults, &InvalidTask::is_vacuous);
}

// The verdicts of a task that is too large are given at its variants: which of them are valid tasks. Of those
// by hand all have to be.
class ReducedCheck {
 public:
  ReducedCheck(Oracle& oracle, const Task& task) {
    FoundSizes found = oracle.reduced_sizes(task.pytorch_code, task.reduced_sizes);
    if (!found.sizes && !found.failure.will_recur())
      throw Error("the oracle failed: " + found.failure.reason, ExitCode::kUnavailable);
    if (!found.sizes) {
      refused_ = {{found.failure.kind, found.failure.reason}};
      return;
    }
    sizes_ = std::move(found.sizes);
    std::vector<std::shared_ptr<OracleTask>> opened;
    for (const SizeVariant& variant : sizes_->variants)
      opened.push_back(oracle.open(variant.code, kDrawKinds, TaskSize::kReduced));
    for (size_t i = 0; i < opened.size(); ++i) {
      const SizeVariant& variant = sizes_->variants[i];
      std::vector<InvalidTask> faults = faults_of(*opened[i]);
      const bool is_valid = is_gradable_at(*opened[i], faults);
      if (is_valid) valid_.push_back(&variant);
      if (!is_valid && !task.reduced_sizes.empty())
        for (const InvalidTask& fault : faults)
          refused_.push_back({fault.kind, concat("at reduced_sizes ", variant.sizes, ": ", fault.message)});
      else if (i == 0 || (is_valid && valid_.size() == 1))
        faults_ = std::move(faults);
    }
  }
  // Of the first valid variant; where there is none, of the first.
  const std::vector<InvalidTask>& faults() const { return faults_; }
  // Why there are no variants, or what is wrong with those that are given by hand.
  const std::vector<InvalidTask>& refused() const { return refused_; }
  bool has_sizes() const { return sizes_ != nullptr; }
  bool is_gradable() const { return !valid_.empty(); }
  // The text of the first valid variant. There must be one.
  const std::string& code() const { return valid_.front()->code; }
  std::string text() const {
    std::string text =
        concat("own size ", mebibytes(sizes_->input_bytes), " of inputs, ", mebibytes(sizes_->output_bytes),
               " of answer, ", mebibytes(sizes_->parameter_bytes), " of parameters, ",
               operations(sizes_->lane_operations), " lane operations; ",
               is_gradable() ? "graded at reduced sizes: " : "no reduced size is a valid task: ");
    const std::string separator = " | ";
    double most = 0;
    uint64_t bytes = 0;
    const auto& listed = valid_.empty() ? std::vector{&sizes_->variants.front()} : valid_;
    for (const SizeVariant* variant : listed) {
      text += concat(variant == listed.front() ? "" : separator, variant->sizes);
      most = std::max(most, variant->lane_operations);
      bytes = std::max(bytes, variant->input_bytes + variant->output_bytes);
    }
    return text + concat("; at most ", mebibytes(bytes), ", ", operations(most), " lane operations");
  }

 private:
  std::shared_ptr<const ReducedSizes> sizes_;
  std::vector<const SizeVariant*> valid_;
  std::vector<InvalidTask> faults_, refused_;
};

}  // namespace

std::vector<Task> check_tasks(const std::string& name, const std::vector<Task>& tasks,
                              const PipelineOptions& options, std::ostream& out) {
  BoxHost host(options.bwrap);
  const PythonInstall python = PythonInstall::find(options.python);
  Oracle oracle(host, python, options.oracle);
  std::map<std::string, size_t> by_kind;
  size_t faulty = 0, reduced = 0;
  std::vector<Task> judged = tasks;
  std::deque<std::shared_ptr<OracleTask>> ahead;
  for (size_t i = 0, next = 0; i < tasks.size(); ++i) {
    for (; next < tasks.size() && ahead.size() < kOpenAhead; ++next)
      ahead.push_back(oracle.open(tasks[next].pytorch_code, kDrawKinds));
    auto faults = faults_of(*ahead.front());
    const auto spec = ahead.front()->spec();
    const bool is_too_large = ahead.front()->failure().is_of_size();
    ahead.pop_front();
    // Sizes by hand are asked for at any own size (`bicrl verify --size reduced`).
    if (is_too_large || (spec && !tasks[i].reduced_sizes.empty())) {
      const ReducedCheck check(oracle, tasks[i]);
      if (is_too_large) faults = check.faults();
      faults.insert(faults.end(), check.refused().begin(), check.refused().end());
      if (is_too_large && check.is_gradable()) {
        ++reduced;
        judged[i].pytorch_code = check.code();
      }
      if (check.has_sizes()) out << name << " " << tasks[i].id << "  " << check.text() << std::endl;
    }
    if (!is_too_large && spec && spec->has_costing_inputs) {
      for (InvalidTask& fault :
           faults_of(*oracle.open(tasks[i].pytorch_code, draw_kinds(TaskSize::kCosted), TaskSize::kCosted)))
        faults.push_back({std::move(fault.kind), "on get_costing_inputs(): " + fault.message});
    }
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
  if (reduced > 0)
    out << name << ": " << reduced << " of " << tasks.size()
        << " tasks are too large to be run here at their own size, and are graded at reduced ones\n";
  return judged;
}

}  // namespace bicrl

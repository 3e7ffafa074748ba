#include "launch/commands/task_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <future>
#include <map>

#include "sandbox/box/scratch_folder.h"
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
      opened.push_back(oracle.open(variant.code, kInputKinds, TaskSize::kReduced));
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
  const std::shared_ptr<const ReducedSizes>& sizes() const { return sizes_; }
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

// Whether a device judges tasks at their own sizes: asked of one task after the other, while the references
// of others run on the CPU.
class OwnSizeChecks {
 public:
  OwnSizeChecks(BoxHost& host, const PythonInstall& python, const PipelineOptions& options)
      : scratch_(options.scratch),
        backend_(options.backend({host, scratch_, python, options.execute})),
        is_here_(backend_->features().judges_own_sizes) {}
  bool is_here() const { return is_here_; }

  void ask(const std::string& id, const std::string& code, std::shared_ptr<const ReducedSizes> sizes) {
    asked_.push_back({id, std::async(std::launch::async, [this, code, sizes] {
                        return backend_->judge_own_size(own_size_plan(code, *sizes), {});
                      })});
  }

  // A line for each; returns how many can be judged.
  size_t print(const std::string& name, std::ostream& out) {
    size_t gradable = 0;
    for (auto& [id, answer] : asked_) {
      const OwnSizeResult result = answer.get();
      const std::string& refused = result.end ? result.end.reason : result.ungradable;
      gradable += refused.empty();
      out << name << " " << id << "  "
          << (refused.empty() ? concat("own size on this GPU: ", result.memory)
                              : "own size not on this GPU: " + refused)
          << "; " << std::lround(result.held_ms) << " ms" << (result.note.empty() ? "" : "; ") << result.note
          << std::endl;
    }
    return gradable;
  }

 private:
  struct Asked {
    std::string id;
    std::future<OwnSizeResult> answer;
  };
  ScratchFolder scratch_;
  std::unique_ptr<Backend> backend_;
  const bool is_here_;
  std::vector<Asked> asked_;  // last: they use the others
};

}  // namespace

std::vector<Task> check_tasks(const std::string& name, const std::vector<Task>& tasks,
                              const PipelineOptions& options, std::ostream& out) {
  BoxHost host(options.bwrap);
  const PythonInstall python = PythonInstall::find(options.python);
  Oracle oracle(host, python, options.oracle);
  OwnSizeChecks own_sizes(host, python, options);
  std::map<std::string, size_t> by_kind;
  size_t faulty = 0, reduced = 0;
  std::vector<Task> judged = tasks;
  std::deque<std::shared_ptr<OracleTask>> ahead;
  for (size_t i = 0, next = 0; i < tasks.size(); ++i) {
    for (; next < tasks.size() && ahead.size() < kOpenAhead; ++next)
      ahead.push_back(oracle.open(tasks[next].pytorch_code, kInputKinds));
    auto faults = faults_of(*ahead.front());
    const auto spec = ahead.front()->spec();
    const bool is_too_large = ahead.front()->failure().is_of_size();
    ahead.pop_front();
    bool has_costing_inputs = spec && spec->has_costing_inputs;
    // Sizes by hand are asked for at any own size (`bicrl verify --size reduced`).
    if (is_too_large || (spec && !tasks[i].reduced_sizes.empty())) {
      const ReducedCheck check(oracle, tasks[i]);
      if (is_too_large) faults = check.faults();
      faults.insert(faults.end(), check.refused().begin(), check.refused().end());
      if (is_too_large && check.is_gradable()) {
        ++reduced;
        judged[i].pytorch_code = check.code();
        if (own_sizes.is_here()) own_sizes.ask(tasks[i].id, tasks[i].pytorch_code, check.sizes());
      }
      if (is_too_large && check.has_sizes()) has_costing_inputs = check.sizes()->own->has_costing_inputs;
      if (check.has_sizes()) out << name << " " << tasks[i].id << "  " << check.text() << std::endl;
    }
    if (has_costing_inputs) {
      for (InvalidTask& fault :
           faults_of(*oracle.open(tasks[i].pytorch_code, input_kinds(TaskSize::kCosted), TaskSize::kCosted)))
        faults.push_back({std::move(fault.kind), "on get_costing_inputs(): " + fault.message});
    }
    faulty += !faults.empty();
    for (const InvalidTask& fault : faults) {
      ++by_kind[fault.kind];
      out << name << " " << tasks[i].id << "  " << fault.kind << ": " << fault.message << std::endl;
    }
  }
  const size_t on_gpu = own_sizes.print(name, out);
  out << name << ": " << faulty << " of " << tasks.size() << " tasks have a fault";
  for (const auto& [kind, count] : by_kind)
    out << (kind == by_kind.begin()->first ? ": " : ", ") << kind << " " << count;
  out << "\n";
  if (reduced > 0)
    out << name << ": " << reduced << " of " << tasks.size()
        << " tasks are too large for references on the CPU, and are graded at reduced sizes; at their own "
           "size, "
        << (own_sizes.is_here() ? concat(on_gpu, " of them here\n")
                                : std::string("on a GPU (backend: gpu) only\n"));
  return judged;
}

}  // namespace bicrl

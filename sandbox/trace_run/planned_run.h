// The calls of one run of a plan (runtimes/executor/execute_main.cpp says what a plan is), one after the
// other as far as there is no fault, and the run's report. Not thread-safe.
#pragma once
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "sandbox/trace_run/trace_run.h"

namespace bicrl {

// {"class", "message", "kernel"}
nlohmann::json to_json(const ptx::KernelFault& fault);

struct PlannedRunOptions {
  bool follow_copies = false;  // as the TraceRun does
  bool has_shadows = false;    // likewise
  bool keep_answers = false;   // of all calls
  // A test input of the plan, by its number; it stays where it is until the next one is asked for.
  std::function<CallInputs(size_t test_input)> inputs;
  // Appends to the outputs of all runs.
  std::function<void(const void* bytes, size_t size)> write;
  // Whether the calls so far have cost so little that a further one does not matter.
  std::function<bool()> is_cheap;
};

class PlannedRun {
 public:
  // `asked`: the plan's entry of the run. All must outlive this.
  PlannedRun(TraceRun& run, const Trace& trace, const nlohmann::json& asked, PlannedRunOptions options);

  // The outputs of a call that failed are zeros that nobody reads.
  void first_call();
  void repeats();

  bool failed() const { return report_.contains("fault"); }
  void report_fault(const ptx::KernelFault& fault, bool of_all_calls);
  nlohmann::json& report() { return report_; }
  // Which repeats have been executed.
  size_t repeats_begin() const { return begin_; }
  size_t repeats_end() const { return end_; }
  // The outputs of the first call; with `keep_answers`, those of the repeats behind them.
  const std::vector<std::vector<std::byte>>& answers() const { return answers_; }

 private:
  void store(std::optional<ptx::KernelFault> fault, const OutputLayout& layout);
  void store_copied();
  bool goes_on() const;

  TraceRun& run_;
  const Trace& trace_;
  const nlohmann::json& asked_;
  const PlannedRunOptions options_;
  size_t begin_ = 0, end_ = 0;
  std::vector<std::vector<std::byte>> answers_;
  nlohmann::json report_;
};

}  // namespace bicrl

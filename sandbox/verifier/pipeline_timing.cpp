// How a correct program comes to its measured time: on inputs that are drawn once it is known to be correct,
// so that nothing that ran before can have seen them, and with every timed answer compared like any other.
#include <algorithm>

#include "common/hash.h"
#include "sandbox/verifier/pipeline_job.h"

namespace bicrl {

uint64_t least_read_bytes(const Trace& trace, uint64_t least_moved_bytes) {
  const uint64_t written = trace.output_layout().total_bytes;
  return std::min(least_moved_bytes - std::min(least_moved_bytes, written), trace.inputs.total_bytes);
}

void Pipeline::measure_times(Job& job, const SizedTask& task, const RecordResult& recorded) {
  const bool costed = task.spec->has_costing_inputs;
  SizedTask fresh{task.code, oracle_->open_fresh(task.code, task.spec->init_seed,
                                                 costed ? TaskSize::kCosted : TaskSize::kGiven, job.stop)};
  fresh.known = fresh.opened->answers(job.stop);
  if (!fresh.known)
    return job.infrastructure("time", "the oracle, for what is timed: " + fresh.opened->failure().reason);
  fresh.spec = fresh.opened->spec(job.stop);
  const Trace& trace = *recorded.trace;
  const OutputLayout& layout = trace.output_layout();
  TimingPlan plan{.trace = &trace,
                  .modules = recorded.modules,
                  .test_inputs = {},
                  .task_code = job.request.pytorch_code,
                  .init_seed = task.spec->init_seed,
                  .costing_inputs = costed,
                  .tf32 = job.request.protocol.tolerance == TolerancePolicy::kTf32,
                  .check = {}};
  for (const TestInput& test_input : fresh.known->test_inputs)
    plan.test_inputs.push_back({"", &test_input.inputs});
  plan.check = [&](size_t test_input, std::string_view outputs) {
    const Comparison compared = compare_outputs(
        layout, outputs, fresh.known->test_inputs[test_input].expected, job.request.protocol.tolerance);
    job.verdict.max_error_ratio = std::max(job.verdict.max_error_ratio, compared.max_error_ratio);
    if (!compared.fault_class) return Fault{};
    return Fault::of_program(*compared.fault_class, "a call that was timed is wrong");
  };
  plan.least_written_bytes = layout.total_bytes;
  plan.least_read_bytes = least_read_bytes(trace, fresh.known->reference.least_bytes);

  job.verdict.reached = "time";
  const TimingResult result = backend_->time(plan, job.stop);
  Verdict& verdict = job.verdict;
  verdict.run_ms += result.run_ms;
  verdict.costed_size = size_text(task.spec->layout);
  verdict.measurement = result.measurement;
  if (result.end.is_infrastructure()) return job.fault("time", result.end);
  if (result.end) {
    const bool compared = result.end.is(FaultClass::kWrongValue) || result.end.is(FaultClass::kNonFinite);
    job.fault("time", result.end);
    if (compared) verdict.outcome = Outcome::kGraded;
    if (!costed) verdict.trials_passed = std::max(verdict.trials_passed - 1, 0);
    return;
  }
  if (!result.untimed.empty()) {
    verdict.diagnostics = concat("no times: ", result.untimed);
    return;
  }
  job.take(result);
}

}  // namespace bicrl

// How a program whose task is too large for references on the CPU is judged at the task's own size, once it
// is right at variants: on a device, where inputs are drawn, the reference runs, and outputs are compared. A
// program that is made for that size, and refuses variants, is judged there alone.
#include <algorithm>

#include "common/error.h"
#include "sandbox/verifier/pipeline_job.h"

namespace bicrl {
namespace {

constexpr size_t kShownVariants = 2;  // which show along which axis the reference may be cut
constexpr int kOwnTrials = 2;

void remark_on(Verdict& verdict, const std::string& text) {
  if (!text.empty()) verdict.diagnostics += concat(verdict.diagnostics.empty() ? "" : "; ", text);
}

}  // namespace

OwnSizePlan own_size_plan(const std::string& task_code, const ReducedSizes& sizes) {
  OwnSizePlan plan{.task_code = task_code,
                   .variants = {},
                   .inputs = sizes.own->inputs,
                   .layout = &sizes.own->layout,
                   .answer = sizes.returned,
                   .init_seed = sizes.own->init_seed,
                   .tolerance = std::string(to_string(kDefaultProtocol.tolerance))};
  for (const SizeVariant& variant : sizes.variants)
    if (plan.variants.size() < kShownVariants) plan.variants.push_back(variant.code);
  return plan;
}

bool Pipeline::judges_own_size(const Job& job) const {
  return backend_->features().judges_own_sizes && job.request.protocol.size != SizePolicy::kReduced;
}

// A program that refuses a variant has said nothing of what may be right without a kernel: the task says it.
// Nothing, and the job's verdict is the verifier's failure, if that is why no variant's answers are known.
std::optional<std::vector<bool>> Pipeline::trivial_outputs(Job& job, const ReducedSizes& sizes) {
  const Verdict before = job.verdict;
  std::optional<SizedTask> failed;
  for (const SizeVariant& variant : sizes.variants) {
    SizedTask task{variant.code, oracle_->open(variant.code, std::max(job.request.protocol.trials, 2),
                                               TaskSize::kReduced, job.stop)};
    task.known = task.opened->answers(job.stop);
    if (task.known && !refuse_vacuous(job, task)) {
      job.verdict = before;
      return task.known->trivial_outputs;
    }
    job.verdict = before;
    if (!task.known && !task.opened->failure().invalid_task) failed = std::move(task);
  }
  if (failed) oracle_failure(job, *failed);
  return std::nullopt;
}

void Pipeline::judge_own_size(Job& job, const ReducedSizes& sizes, const RecordResult& own) {
  Verdict& verdict = job.verdict;
  const bool is_specialised = !verdict.correct;
  const auto trivial = trivial_outputs(job, sizes);
  if (!trivial) return;
  OwnSizePlan plan = own_size_plan(job.request.pytorch_code, sizes);
  plan.tolerance = std::string(to_string(job.request.protocol.tolerance));
  plan.trace = &*own.trace;
  plan.modules = own.modules;
  plan.trivial_outputs = *trivial;
  plan.measure_time = job.request.protocol.measure_time && options_.measures_times &&
                      !sizes.own->has_costing_inputs;  // else times are of those (cost_reduced)
  plan.least_written_bytes = own.trace->output_layout().total_bytes;
  plan.least_read_bytes = least_read_bytes(*own.trace, sizes.reference.least_bytes);
  const OwnSizeResult result = backend_->judge_own_size(plan, job.stop);
  verdict.run_ms += result.run_ms;
  if (!result.ungradable.empty()) {
    remark_on(verdict, concat("not gradable at its own size: ", result.ungradable));
    if (job.request.protocol.size == SizePolicy::kOwn && !is_specialised) {
      job.infrastructure("run", concat("task ", job.request.task_id, ": ", verdict.diagnostics));
      verdict.outcome = Outcome::kInvalidTask;
    }
    return;
  }
  verdict.max_error_ratio = std::max(verdict.max_error_ratio, result.max_error_ratio);
  if (result.end.is_infrastructure()) return job.fault("run", result.end);
  verdict.graded_at = kOwnSize;
  if (result.end) {
    const FaultClass found = result.end.fault_class;
    job.fault("run", found, concat("at its own size: ", result.end.reason));
    const bool compared = found == FaultClass::kWrongValue || found == FaultClass::kNonFinite ||
                          found == FaultClass::kDeadKernel;
    if (!compared) return;
    verdict.outcome = Outcome::kGraded;
    verdict.reached = "compare";
    verdict.trials_passed = std::max(0, verdict.trials_passed - 1);
    return;
  }
  if (is_specialised) {
    verdict.outcome = Outcome::kGraded;
    verdict.reached = "compare";
    verdict.fault_class.clear();
    verdict.correct = true;
    verdict.trials = verdict.trials_passed = kOwnTrials;
    verdict.diagnostics =
        "refuses smaller inputs of the task, so it was compared at its own size alone, without an "
        "instrumented run";
  }
  remark_on(verdict, result.note);
  if (!plan.measure_time) return;
  if (!result.timed.untimed.empty()) return remark_on(verdict, concat("no times: ", result.timed.untimed));
  job.take(result.timed);
  verdict.measurement = result.timed.measurement;
  verdict.costed_at = kOwnSize;
  verdict.costed_size = size_text(sizes.own->layout);
}

}  // namespace bicrl

// How a program is judged whose task is too large to be run here. It is recorded at the task's own size,
// which needs no data: limits of launches and faults of the host part show there. All trials are made at
// variants of the task whose constants are smaller (oracle/reduced_sizes.h): every one with a long axis,
// which alone shows errors behind the first thousands, and one or two of the others, which are secret. Where
// there is a device for it, the own size comes last (pipeline_own_size.cpp).
#include <algorithm>
#include <utility>

#include "common/error.h"
#include "sandbox/verifier/pipeline_job.h"
#include "sandbox/verifier/secret.h"

namespace bicrl {
namespace {

constexpr size_t kLeastVariants = 2;

// What a host part ends in that has something against the sizes of its inputs: an exception, an empty grid.
bool refuses_sizes(const Verdict& verdict) {
  return verdict.fault_class == to_string(FaultClass::kRecord) ||
         verdict.fault_class == to_string(FaultClass::kLaunch);
}

// In an order that nobody knows, but for this: one without a long axis comes first, then those with one.
std::vector<const SizeVariant*> in_secret_order(const ReducedSizes& sizes) {
  std::vector<const SizeVariant*> order;
  for (const SizeVariant& variant : sizes.variants) order.push_back(&variant);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[secret_number() % i]);
  const auto plain = std::ranges::find_if(order, [](const SizeVariant* v) { return !v->is_long; });
  if (plain == order.end()) return order;
  std::rotate(order.begin(), plain, plain + 1);
  std::stable_partition(order.begin() + 1, order.end(), [](const SizeVariant* v) { return v->is_long; });
  return order;
}

// As the task itself draws them.
const std::vector<std::string>& plain_inputs(const OracleAnswers& known) {
  const auto plain = std::ranges::find_if(
      known.test_inputs, [](const TestInput& test_input) { return test_input.kind == "plain"; });
  return plain == known.test_inputs.end() ? known.test_inputs.front().inputs : plain->inputs;
}

}  // namespace

std::optional<RecordResult> Pipeline::record_own(Job& job, const ReducedSizes& sizes) {
  SizedTask own{.code = job.request.pytorch_code};
  own.spec = sizes.own;
  auto recorded = record(job, own);
  if (!recorded) return std::nullopt;
  const Trace& trace = *recorded->trace;
  if (!structure_matches(job, trace.returned, sizes.returned, 1)) return std::nullopt;
  for (size_t k = 0; k < trace.repeats.size(); ++k)
    if (!structure_matches(job, trace.repeats[k].returned, sizes.returned, k + 2)) return std::nullopt;
  const RunResult checked = backend_->check_launches(trace, recorded->modules, job.stop);
  job.verdict.run_ms += checked.run_ms;
  if (checked.fault)
    job.fault("run", checked.fault);
  else if (has_registers(job, *recorded))
    return recorded;
  return std::nullopt;
}

// What a variant leaves for the costs.
struct Pipeline::GradedVariant {
  RecordResult recorded;
  std::vector<LaunchCounters> launches;
  uint64_t least_bytes = 0;
  double lane_operations = 0;
  bool is_long = false;
  std::shared_ptr<const OracleAnswers> known;
};

// Whether the program is right at the variant, or nothing: the variant is no valid task.
std::optional<bool> Pipeline::grade_variant(Job& job, const SizeVariant& variant, bool counts,
                                            std::vector<GradedVariant>& graded) {
  const int test_inputs = std::max(job.request.protocol.trials, 2);
  SizedTask task{variant.code, oracle_->open(variant.code, test_inputs, TaskSize::kReduced, job.stop)};
  auto recorded = record(job, task);
  if (!recorded && job.verdict.outcome == Outcome::kCandidateFault && refuses_sizes(job.verdict)) {
    const std::string refusal = job.verdict.diagnostics;
    job.fault("record", FaultClass::kSpecialised,
              concat("refuses smaller inputs of the task, at which it would be compared: ", refusal));
    if (job.request.protocol.specialised == SpecialisedPolicy::kMask)
      job.verdict.outcome = Outcome::kUndecided;
    return false;
  }
  if (!recorded || !plan_inputs(job, task, *recorded, test_inputs)) {
    if (job.verdict.outcome == Outcome::kInvalidTask) return std::nullopt;
    return false;
  }
  job.verdict.graded_at = kReducedSize;
  const int passed_before = job.verdict.trials_passed;
  const auto result = run_trials(job, task, *recorded);
  if (!graded.empty()) job.verdict.trials_passed = std::min(job.verdict.trials_passed, passed_before);
  if (!job.verdict.correct) {
    if (job.verdict.outcome != Outcome::kInfrastructure)
      job.verdict.diagnostics = concat("at reduced sizes: ", job.verdict.diagnostics);
    return false;
  }
  if (graded.empty()) remark(job, task, *recorded, *result);
  GradedVariant done{
      {}, {}, task.known->reference.least_bytes, variant.lane_operations, variant.is_long, task.known};
  if (counts) {
    auto launches = count_launches(job, task);
    if (!launches) return false;
    done.launches = std::move(*launches);
  }
  done.recorded = std::move(*recorded);
  graded.push_back(std::move(done));
  return true;
}

void Pipeline::grade_reduced(Job& job) {
  const FoundSizes found =
      oracle_->reduced_sizes(job.request.pytorch_code, job.request.reduced_sizes, job.stop);
  if (!found.sizes) {
    job.infrastructure(job.verdict.reached, concat("task ", job.request.task_id, ": ", found.failure.reason));
    if (found.failure.will_recur()) job.verdict.outcome = Outcome::kInvalidTask;
    return;
  }
  const ReducedSizes& sizes = *found.sizes;
  const auto own = record_own(job, sizes);
  if (!own) return;
  const bool counts = job.request.protocol.measure_time && !options_.measures_times &&
                      !sizes.own->has_costing_inputs;  // for the extrapolation
  std::string remarks;
  std::vector<GradedVariant> graded;
  for (const SizeVariant* variant : in_secret_order(sizes)) {
    if (!variant->is_long && graded.size() >= kLeastVariants) break;
    const Verdict before = job.verdict;
    const auto is_correct = grade_variant(job, *variant, counts, graded);
    if (!is_correct) {
      // The next one decides; where there is none, what is known.
      if (!graded.empty()) job.verdict = before;
      continue;
    }
    if (!*is_correct) {
      if (job.verdict.fault_class != "specialised" || !judges_own_size(job)) return;
      judge_own_size(job, sizes, *own);
      graded.clear();
      return cost_reduced(job, sizes, *own, graded);
    }
    if (graded.size() == 1) remarks = job.verdict.diagnostics;
  }
  if (graded.empty()) return;
  job.verdict.diagnostics = remarks;
  if (graded.size() < kLeastVariants)
    job.verdict.diagnostics +=
        concat(remarks.empty() ? "" : "; ", "compared at one reduced size: the task has no other valid one");
  if (judges_own_size(job)) judge_own_size(job, sizes, *own);
  cost_reduced(job, sizes, *own, graded);
}

// Of a correct program: its times. Inputs that the task names for them come first, as for every task. Else a
// backend that has a clock has measured them where it judged the own size.
void Pipeline::cost_reduced(Job& job, const ReducedSizes& sizes, const RecordResult& own,
                            std::vector<GradedVariant>& graded) {
  if (!job.verdict.correct || !job.request.protocol.measure_time) return;
  if (sizes.own->has_costing_inputs) {
    const std::string remarks = std::exchange(job.verdict.diagnostics, "");
    // How launches grow is seen from smaller inputs than those that are costed.
    cost_on_larger_inputs(job, graded.empty() ? *own.trace : *graded.front().recorded.trace);
    std::string& diagnostics = job.verdict.diagnostics;
    if (job.verdict.correct && !remarks.empty())
      diagnostics = concat(remarks, diagnostics.empty() ? "" : "; ", diagnostics);
    return;
  }
  if (job.verdict.graded_at == kOwnSize && options_.measures_times) return;
  std::vector<CountedSize> counted;
  for (GradedVariant& variant : graded)
    counted.push_back({&*variant.recorded.trace, std::move(variant.launches), variant.least_bytes,
                       variant.lane_operations, variant.is_long, &plain_inputs(*variant.known)});
  model_reduced_times(job, sizes, own, std::move(counted));
}

}  // namespace bicrl

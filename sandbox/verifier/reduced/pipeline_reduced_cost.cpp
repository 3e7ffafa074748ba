// What a program that is right at reduced sizes is modelled to take at the task's own: by counters of
// one of them, where its blocks are alike at all (extrapolation.h). Others have no times.
#include <algorithm>

#include "common/error.h"
#include "sandbox/cost/cost_model.h"
#include "sandbox/verifier/cost_summary.h"
#include "sandbox/verifier/pipeline_job.h"
#include "sandbox/verifier/reduced/own_size_sample.h"
#include "sandbox/verifier/secret.h"

namespace bicrl {
namespace {

constexpr uint64_t kSampledBlocks = 8;  // of each launch

}  // namespace

std::optional<std::vector<LaunchCounters>> Pipeline::count_launches(Job& job, const SizedTask& task) {
  SizedTask counted = task;
  counted.plan.runs = {{.test_input = 0, .repeat_inputs = {}, .seed = kCountedSeed, .count = true}};
  auto result = run(job, counted);
  if (!result) return std::nullopt;
  RunOutcome& run = result->runs.front();
  if (!run.fault) return std::move(run.counters);
  job.fault("run", run.fault);
  return std::nullopt;
}

// A note of how many blocks of the own size ran, or nothing and why they show another program than reduced
// sizes do.
Result<std::string> Pipeline::compare_sample(Job& job, const RecordResult& own,
                                             const std::vector<CountedSize>& counted) {
  const auto other = [](const std::string& reason) { return Result<std::string>::failure(reason); };
  const std::vector<std::string>& inputs = *base_size(counted).inputs;
  const SampleResult sampled = backend_->sample_blocks({&*own.trace,
                                                        own.modules,
                                                        {.seed = secret_number(),
                                                         .blocks = kSampledBlocks,
                                                         .beyond = most_blocks(counted),
                                                         .inputs = {inputs.begin(), inputs.end()}}},
                                                       job.stop);
  job.verdict.run_ms += sampled.run_ms;
  if (sampled.fault.is_infrastructure()) {
    job.fault("run", sampled.fault);
    return other(sampled.fault.reason);
  }
  if (sampled.fault) return other(concat("a block at its own size: ", sampled.fault.reason));
  if (!sampled.ran) return other("no block ran at its own size");
  const std::string difference = difference_at_own_size(*own.trace, counted, sampled.launches);
  if (!difference.empty()) return other(difference);
  return concat("modelled from reduced sizes, as ", sampled_share(*own.trace, sampled.launches),
                " blocks at its own size do the same");
}

void Pipeline::model_reduced_times(Job& job, const ReducedSizes& sizes, const RecordResult& own,
                                   std::vector<CountedSize> counted) {
  std::string& diagnostics = job.verdict.diagnostics;
  const auto untimed = [&](const std::string& reason) {
    diagnostics += concat(diagnostics.empty() ? "" : "; ", "no times: ", reason);
  };
  if (options_.measures_times)
    return untimed("it was judged at reduced sizes, and not run at the task's own");
  if (counted.empty()) return untimed("it refuses the reduced sizes of which times are modelled");
  if (counted.size() < 2) return untimed("the task has one valid reduced size");
  const CountedSize at_own{&*own.trace, {}, sizes.reference.least_bytes, sizes.lane_operations};
  Extrapolation found = extrapolate(at_own, counted);
  if (found.launches.empty()) return untimed(found.reason);
  const auto sample = compare_sample(job, own, counted);
  if (job.verdict.outcome == Outcome::kInfrastructure) return;
  if (!sample) return untimed(sample.reason());
  diagnostics += concat(diagnostics.empty() ? "" : "; ", sample.value());
  const DeviceTable& device = *find_device_table(options_.cost_device);
  for (const CudaProgram& program : own.programs)
    add_resources(compiler_->resources(program, std::string(device.architecture), job.stop), found.launches);
  const double least = least_ms(sizes.reference.least_bytes, device);
  const auto at_least = [least](double ms) { return std::max(ms, least); };
  Verdict& verdict = job.verdict;
  verdict.candidate_ms = coarse(at_least(model_program(found.launches, device).modelled_ms));
  verdict.eager_ms = at_least(modelled_ms(sizes.reference.eager, device));
  verdict.torch_compile_ms = at_least(modelled_ms(sizes.reference.fused, device));
  verdict.roofline_fraction = least / verdict.candidate_ms;
  verdict.costed_at = kReducedSize;
  verdict.costed_size = size_text(sizes.own->layout);
  verdict.counters = counters_text(found.launches, device);
}

}  // namespace bicrl

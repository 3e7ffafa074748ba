// What a program that is right at reduced sizes is modelled to take at the task's own: by counters of two of
// them, where its blocks are alike (extrapolation.h). Others have no times.
#include <algorithm>

#include "common/error.h"
#include "sandbox/cost/cost_model.h"
#include "sandbox/verifier/cost_summary.h"
#include "sandbox/verifier/pipeline_job.h"

namespace bicrl {

std::optional<std::vector<LaunchCounters>> Pipeline::count_launches(Job& job, const SizedTask& task) {
  SizedTask counted = task;
  counted.plan.runs = {{.draw = 0, .repeat_draws = {}, .seed = kCountedSeed, .count = true}};
  auto result = run(job, counted);
  if (!result) return std::nullopt;
  RunOutcome& run = result->runs.front();
  if (!run.fault) return std::move(run.counters);
  job.fault("run", run.fault);
  return std::nullopt;
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
  Extrapolation found = extrapolate(at_own, counted[0], counted[1]);
  for (size_t i = 2; i < counted.size() && !found.launches.empty(); ++i)
    if (Extrapolation other = extrapolate(at_own, counted[0], counted[i]); other.launches.empty())
      found = std::move(other);
  if (found.launches.empty()) return untimed(found.reason);
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

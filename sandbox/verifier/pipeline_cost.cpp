// How a correct program comes to its time, of which here is what is modelled. A task may name larger inputs
// for it, because at a few thousand elements speed is the number of launches. There the program is judged
// once more, like everywhere: all elements, one test input with shadows and races, once without launches.
// What is counted is what is compared.
#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "sandbox/cost/cost_model.h"
#include "sandbox/verifier/cost_summary.h"
#include "sandbox/verifier/pipeline_job.h"
#include "sandbox/verifier/secret.h"

namespace bicrl {
namespace {

// Counters of so many times as many rows, and how often a program then runs with them. How its launches grow
// is seen from the given inputs to those that were counted: a grid that stays as it is has blocks that do
// more, and a program with more launches on more rows is taken to go over its parts one after the other.
uint64_t repeat_launches(const Trace& given, const Trace& counted, uint64_t repeats,
                         std::vector<LaunchCounters>& launches) {
  if (repeats == 1) return 1;
  const auto before = given.kernel_launches(), now = counted.kernel_launches();
  if (now.size() > before.size()) return repeats;
  size_t kernel = 0;
  for (LaunchCounters& launch : launches) {
    Growth growth = Growth::kBlocks;
    if (launch.kind == LaunchCounters::Kind::kKernel) {
      if (kernel < now.size() && now[kernel]->blocks() <= before[kernel]->blocks())
        growth = Growth::kWorkOfBlocks;
      ++kernel;
    }
    launch = repeated(launch, repeats, growth);
  }
  return 1;
}

}  // namespace

double coarse(double ms) {
  double unit = 1e-9;
  while (ms / unit > 1000) unit *= 10;
  return std::ceil(ms / unit) * unit;
}

std::string size_text(const InputLayout& layout, uint64_t repeats) {
  std::string text;
  for (const InputLayout::Leaf& leaf : layout.leaves) {
    text += text.empty() ? "" : ", ";
    if (leaf.tensor.sizes.empty()) text += "scalar";
    for (size_t i = 0; i < leaf.tensor.sizes.size(); ++i)
      text += concat(i == 0 ? "" : "x", leaf.tensor.sizes[i]);
  }
  if (repeats > 1) text += concat(", ", repeats, " times");
  return text;
}

void Pipeline::cost(Job& job, const SizedTask& given, const RecordResult& recorded) {
  if (recorded.trace->launches() == 0) {
    job.verdict.diagnostics = "no times: the answer is empty, and no kernel is launched";
    return;
  }
  if (given.spec->has_costing_inputs) return cost_on_larger_inputs(job, *recorded.trace);
  if (options_.measures_times) return measure_times(job, given, recorded);
  if (auto launches = count_launches(job, given))
    model_times(job, given, recorded, *recorded.trace, *launches);
}

void Pipeline::cost_on_larger_inputs(Job& job, const Trace& given) {
  const int trials_passed = job.verdict.trials_passed;
  const std::string& code = job.request.pytorch_code;
  SizedTask costed{code, oracle_->open(code, input_kinds(TaskSize::kCosted), TaskSize::kCosted, job.stop)};
  std::optional<RunResult> result;
  // A program is only asked to work where the reference does.
  if (!costed.opened->answers(job.stop)) return oracle_failure(job, costed);
  if (const auto recorded = record(job, costed);
      recorded && plan_inputs(job, costed, *recorded, input_kinds(TaskSize::kCosted))) {
    costed.plan.runs =
        plan_runs(costed.test_inputs.size(), costed.test_inputs.size(), recorded->trace->repeats.size(),
                  /*watch_reads=*/false);
    if (!options_.measures_times) {
      // The first test input is plain: the counters of programs are of like inputs.
      for (size_t i = 0; i < costed.test_inputs.size(); ++i) costed.plan.runs[i].shadows = i > 0;
      costed.plan.runs.front() = {.test_input = 0, .repeat_inputs = {}, .seed = kCountedSeed, .count = true};
    }
    result = run_and_compare(job, costed);
    if (result && job.verdict.correct && options_.measures_times)
      measure_times(job, costed, *recorded);
    else if (result && job.verdict.correct)
      model_times(job, costed, *recorded, given, result->runs.front().counters);
    if (job.verdict.candidate_ms > 0) job.verdict.costed_at = kOwnSize;
  }
  job.verdict.trials_passed = job.verdict.correct ? trials_passed : std::max(trials_passed - 1, 0);
  if (!job.verdict.correct && job.verdict.outcome != Outcome::kInfrastructure)
    job.verdict.diagnostics = concat("on the inputs of get_costing_inputs(): ", job.verdict.diagnostics);
}

void Pipeline::model_times(Job& job, const SizedTask& task, const RecordResult& recorded, const Trace& given,
                           std::vector<LaunchCounters>& launches) {
  const DeviceTable& device = *find_device_table(options_.cost_device);
  const uint64_t repeats = task.spec->costing_repeats;
  const ReferenceLaunches& reference = task.known->reference;
  for (const CudaProgram& program : recorded.programs)
    add_resources(compiler_->resources(program, std::string(device.architecture), job.stop), launches);
  const uint64_t runs = repeat_launches(given, *recorded.trace, repeats, launches);
  const double least = least_ms(repeats * reference.least_bytes, device);
  const auto at_least = [least](double ms) { return std::max(ms, least); };
  job.verdict.candidate_ms =
      coarse(at_least(static_cast<double>(runs) * model_program(launches, device).modelled_ms));
  job.verdict.eager_ms = at_least(modelled_ms(reference.eager, device, repeats));
  job.verdict.torch_compile_ms = at_least(modelled_ms(reference.fused, device, repeats));
  job.verdict.roofline_fraction = least / job.verdict.candidate_ms;
  job.verdict.costed_size = size_text(task.spec->layout, repeats);
  job.verdict.counters = counters_text(launches, device);
}

}  // namespace bicrl

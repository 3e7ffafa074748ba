#include "sandbox/verifier/routed_backend.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace bicrl {
namespace {

constexpr const char* kNotInstrumented =
    "more work than the PTX machine's limit, so races, what is never written and what is never read were not "
    "looked for";

RunPlan part_of(const RunPlan& plan, const std::vector<size_t>& runs) {
  RunPlan part{plan.trace, plan.modules, plan.test_inputs, {}};
  for (const size_t i : runs) part.runs.push_back(plan.runs[i]);
  return part;
}

// What is certain to be little work first, so that a limit leaves it untouched.
int rank(const RunRequest& run) { return run.skip_launches ? 0 : run.count ? 1 : run.watch_reads ? 2 : 3; }

bool is_limit(const Fault& fault) { return fault.is(FaultClass::kTimeout) || fault.is(FaultClass::kMemory); }

// How many of the interpreter's runs were made if the next was more than its limit, and a device may make the
// rest.
std::optional<size_t> stopped_by_limit(const RunPlan& part, const RunResult& said) {
  size_t made = 0;
  if (!is_limit(said.fault)) {
    if (said.runs.empty() || !is_limit(said.runs.back().fault)) return std::nullopt;
    made = said.runs.size() - 1;
  }
  for (size_t i = made; i < part.runs.size(); ++i)
    if (part.runs[i].count) return std::nullopt;
  return made;
}

void keep_memory(RunResult& part, RunResult& all) {
  std::move(part.memory.begin(), part.memory.end(), std::back_inserter(all.memory));
  all.run_ms += part.run_ms;
}

// The first outcomes of a part to their places among all.
void place(RunResult part, const std::vector<size_t>& runs, size_t made, RunResult& all) {
  for (size_t i = 0; i < made; ++i) all.runs[runs[i]] = std::move(part.runs[i]);
  keep_memory(part, all);
}

// Whether the part failed as a whole, or one of its runs did: then that is what all end in.
bool failed(RunResult& part, const std::vector<size_t>& runs, RunResult& all) {
  if (part.fault) {
    part.run_ms += all.run_ms;
    all = std::move(part);
    return true;
  }
  if (part.runs.empty() || !part.runs.back().fault) return false;
  const size_t last = part.runs.size() - 1;
  all.runs.resize(runs[last] + 1);
  all.runs.back() = std::move(part.runs[last]);
  keep_memory(part, all);
  return true;
}

}  // namespace

RoutedBackend::RoutedBackend(std::unique_ptr<Backend> device, std::unique_ptr<Backend> interpreter,
                             InstrumentedRuns instrumented)
    : device_(std::move(device)), interpreter_(std::move(interpreter)), instrumented_(instrumented) {
  const BackendFeatures &device_has = device_->features(), &interpreter_has = interpreter_->features();
  features_ = interpreter_has;
  features_.name = concat(device_has.name, "+", interpreter_has.name,
                          instrumented == InstrumentedRuns::kWherePossible ? "-where-possible" : "");
  features_.clock_device = device_has.clock_device;
  features_.sanitizes = device_has.sanitizes;
  features_.judges_own_sizes = device_has.judges_own_sizes;
  const auto add = [](const std::vector<std::string>& from, std::vector<std::string>& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(device_has.present, features_.present);
  add(device_has.missing, features_.missing);
  features_.present.push_back(
      concat("instrumented-runs: by ", interpreter_has.name,
             instrumented == InstrumentedRuns::kRequired
                 ? ", always"
                 : ", within its limit of work; a verdict says where there were none"));
}

bool RoutedBackend::device_can(const RunRequest& run) const {
  const BackendFeatures& device = device_->features();
  return !run.skip_launches && (device.shadows || !run.shadows) &&
         (device.watches_reads || !run.watch_reads) && (device.counts || !run.count);
}

RunResult RoutedBackend::check_launches(const Trace& trace, const std::vector<DeviceModule>& modules,
                                        std::stop_token stop) {
  return interpreter_->check_launches(trace, modules, stop);
}

SampleResult RoutedBackend::sample_blocks(const SamplePlan& plan, std::stop_token stop) {
  return interpreter_->sample_blocks(plan, stop);
}

RunResult RoutedBackend::run(const RunPlan& plan, std::stop_token stop) {
  RunResult all;
  all.runs.resize(plan.runs.size());
  std::vector<size_t> by_interpreter, by_device;
  for (size_t i = 0; i < plan.runs.size(); ++i)
    (device_can(plan.runs[i]) ? by_device : by_interpreter).push_back(i);
  std::ranges::stable_sort(by_interpreter, {}, [&](size_t i) { return rank(plan.runs[i]); });
  if (!by_interpreter.empty()) {
    const RunPlan part = part_of(plan, by_interpreter);
    RunResult said = interpreter_->run(part, stop);
    size_t made = by_interpreter.size();
    const auto stopped =
        instrumented_ == InstrumentedRuns::kWherePossible ? stopped_by_limit(part, said) : std::nullopt;
    if (stopped) {
      made = *stopped;
      all.note = kNotInstrumented;
      by_device.insert(by_device.end(), by_interpreter.begin() + static_cast<std::ptrdiff_t>(made),
                       by_interpreter.end());
    } else if (failed(said, by_interpreter, all)) {
      return all;
    }
    place(std::move(said), by_interpreter, made, all);
  }
  if (by_device.empty()) return all;
  std::ranges::sort(by_device);
  RunResult said = device_->run(part_of(plan, by_device), stop);
  if (failed(said, by_device, all)) return all;
  place(std::move(said), by_device, by_device.size(), all);
  return all;
}

}  // namespace bicrl

// How the GPU backend times a program: it opens a session with a process of the loader and one with that of
// the references, has the device to itself, and lets gpu/timing/window.h conduct.
#include <unistd.h>

#include <algorithm>

#include "common/clock.h"
#include "common/hash.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/gpu/process_lease.h"
#include "sandbox/gpu/window_sides.h"
#include "sandbox/verifier/run_report.h"
#include "sandbox/verifier/secret.h"

namespace bicrl {
namespace {

using nlohmann::json;

// The module's first calls, which load code; to compile it takes minutes.
constexpr double kOpen_s = 120, kOpenCompiled_s = 900;

}  // namespace

class GpuBackend::Window {
 public:
  Window(GpuBackend& backend, const TimingPlan& plan, std::stop_token stop)
      : backend_(backend), options_(backend.options_), plan_(plan), stop_(std::move(stop)) {}

  // Fills in all but how long it took.
  void run(TimingResult& result) {
    const Assembled assembled = backend_.assemble(plan_.modules, stop_);
    if (!assembled.done) {
      const MachineCode& failed = assembled.failed;
      result.end = failed.fault;
      return;
    }
    if (result.end = add_test_inputs(); result.end) return;
    clock_.restart();
    Baseline::Session references(*backend_.baseline_, stop_);
    taken("queue");  // for the references' process
    if (result.end = open(references); result.end) return;
    taken("reference");
    if (result.untimed = references.untimed(); !result.untimed.empty()) return;
    const Fault unused = backend_.use_alone(stop_, [&](GpuProcess& process) {
      LoaderParty candidate(process, options_.run_s + kGpuGrace_s, stop_);
      taken("device");  // until nobody else had it
      time(assembled, candidate, references, result);
      return ProcessUse{candidate.reusable(), result.end && candidate.is_silent()};
    });
    if (unused) result.end = unused;
  }

 private:
  void taken(const char* stage) {
    stages_[stage] = in_tenths(clock_.ms());
    clock_.restart();
  }

  // The inputs' files, which both sides have as their first ones.
  Fault add_test_inputs() {
    for (const InputLeaves& test_input : plan_.test_inputs) {
      const auto encoded = encode_inputs(plan_.trace->inputs, {*test_input.leaves});
      if (!encoded) return Fault::infrastructure(encoded.reason());
      test_inputs_.push_back(for_candidate_.add(std::string_view(encoded.value())));
      UniqueFd same(dup(for_candidate_.descriptor(test_inputs_.back())));
      if (!same) return Fault::infrastructure("no descriptors are left");
      for_references_.add(std::move(same));
    }
    return {};
  }

  // While programs may run: what is timed comes later.
  Fault open(Baseline::Session& references) {
    const GpuTimingOptions& timed = options_.timing;
    const json key{plan_.task_code, plan_.init_seed, plan_.costing_inputs, plan_.tf32, timed.torch_compile};
    json asked{{"task", for_references_.add(std::string_view(plan_.task_code))},
               {"init_seed", plan_.init_seed},
               {"costing", plan_.costing_inputs},
               {"tf32", plan_.tf32},
               {"compile", timed.torch_compile},
               {"key", hash_hex(key.dump(-1, ' ', true, json::error_handler_t::replace))},
               {"flush_bytes", std::max(kLeastFlushBytes, 2 * backend_.l2_bytes_)},
               {"leaves", describe_leaves(plan_.trace->inputs)},
               {"test_inputs", test_inputs_}};
    const size_t number = for_references_.add(std::string_view(asked.dump()));
    const DeviceLease::Hold hold = backend_.lease_->share(stop_);
    if (!hold) return Fault::infrastructure("cancelled");
    return references.open(for_references_.numbers(), number,
                           timed.torch_compile ? kOpenCompiled_s : kOpen_s);
  }

  Fault open(LoaderParty& candidate, const Assembled& assembled) {
    json asked = backend_.describe_program(*plan_.trace, plan_.modules, assembled, for_candidate_);
    const size_t control = for_candidate_.add(make_memfd("control"));
    outputs_ = for_candidate_.add(make_memfd("outputs"));
    asked["window"] = true;
    asked["seed"] = secret_number();
    asked["test_inputs"] = test_inputs_;
    asked["nothing"] = for_candidate_.add(std::string_view(*backend_.nothing_));
    asked["output_file"] = outputs_;
    asked["control_file"] = control;
    const size_t number = for_candidate_.add(std::string_view(asked.dump()));
    return candidate.open(for_candidate_, number, control);
  }

  void time(const Assembled& assembled, LoaderParty& candidate, Baseline::Session& references,
            TimingResult& result) {
    if (result.end = open(candidate, assembled); result.end) return;
    if (result.untimed = candidate.untimed(); !result.untimed.empty()) return;
    taken("candidate");
    // Like with like: both sides from graphs, or neither.
    candidate.by_stream = !candidate.has_graph() || !references.has_graph();
    ReferenceParty eager(references, "eager", true, candidate.by_stream),
        compiled(references, "compile", false, candidate.by_stream);
    timing::WindowSetting setting{.candidate = &candidate,
                                  .baselines = {&eager},
                                  .test_inputs = test_inputs_.size(),
                                  .check = [&](size_t test_input) { return check(test_input); },
                                  .health = [&] { return backend_.monitor_->look(); },
                                  .random = secret_number,
                                  .rest = [&](int windows) { wait_for(windows * kWindowRest_s, stop_); },
                                  .seconds = [clock = Stopwatch()] { return clock.seconds(); }};
    if (options_.timing.torch_compile) setting.baselines.push_back(&compiled);
    const timing::WindowResult window = backend_.conduct(setting, options_.timing.window, stop_);
    taken("window");
    result.end = window.end;
    if (result.end) return;
    if (result.untimed = window.unsteady; !result.untimed.empty()) return;
    // What was measured stays good if the process is not.
    (void)candidate.close();
    summarise(window,
              {candidate.by_stream, candidate.launch_ms(),
               backend_.least_ms(plan_.least_read_bytes, plan_.least_written_bytes), stages_},
              result);
  }

  Fault check(size_t test_input) {
    read_whole(for_candidate_.descriptor(outputs_), answer_);
    if (answer_.size() != plan_.trace->output_layout().total_bytes)
      return Fault::infrastructure("the outputs of a timed call are cut off");
    return plan_.check(test_input, answer_);
  }

  GpuBackend& backend_;
  const GpuOptions& options_;
  const TimingPlan& plan_;
  const std::stop_token stop_;
  JobFiles for_candidate_, for_references_;
  std::vector<size_t> test_inputs_;  // their numbers, which are the same for both
  size_t outputs_ = 0;
  std::string answer_;  // of the call that was timed last
  Stopwatch clock_;
  json stages_ = json::object();  // milliseconds that each took
};

timing::WindowResult GpuBackend::conduct(const timing::WindowSetting& setting,
                                         const timing::WindowOptions& options, const std::stop_token& stop) {
  await_contexts(stop);
  timing::WindowResult window = timing::conduct(setting, options, stop);
  windows_ += window.windows;
  repeated_windows_ += static_cast<int64_t>(window.repeated_because.size());
  return window;
}

// That the device's memory takes at its peak rate for what nobody can leave out. L2 is cold when a call
// begins, and may keep what is written.
double GpuBackend::least_ms(uint64_t read_bytes, uint64_t written_bytes) const {
  if (memory_gb_per_s_ <= 0) return 0;
  const uint64_t written = written_bytes - std::min(written_bytes, l2_bytes_);
  return static_cast<double>(read_bytes + written) / (memory_gb_per_s_ * 1e6);
}

TimingResult GpuBackend::time(const TimingPlan& plan, std::stop_token stop) {
  if (!baseline_) return Backend::time(plan, stop);
  const Stopwatch clock;
  TimingResult result;
  try {
    Window(*this, plan, stop).run(result);
  } catch (const nlohmann::json::exception&) {
    result.end = Fault::infrastructure("what a process of the GPU says is malformed");
  } catch (const Error& error) {
    result.end = Fault::infrastructure(error.what());
  }
  result.device_lost = result.end.is_infrastructure() && !stop.stop_requested() && is_lost(stop);
  result.run_ms = clock.ms();
  return result;
}

}  // namespace bicrl

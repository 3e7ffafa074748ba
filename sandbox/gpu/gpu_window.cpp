// How the GPU backend times a program: it opens a session with a process of the loader and one with that of
// the references, has the device to itself, and lets gpu/timing/window.h conduct.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>

#include "common/clock.h"
#include "common/device_turn.h"
#include "common/hash.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/gpu/process_lease.h"
#include "sandbox/verifier/run_report.h"
#include "sandbox/verifier/secret.h"

namespace bicrl {
namespace {

using nlohmann::json;
using timing::TimedCall;

// The module's first calls, which load code; to compile it takes minutes.
constexpr double kOpen_s = 120, kOpenCompiled_s = 900;
constexpr double kRest_s = 1;  // after the first window that was of no use; longer after the next
constexpr uint64_t kLeastFlushBytes = 32 << 20;

// A window's side in a process of the loader.
class LoaderParty : public timing::TimedParty {
 public:
  LoaderParty(GpuProcess& process, double patience_s, std::stop_token stop)
      : process_(process), patience_s_(patience_s), stop_(std::move(stop)) {}

  Fault open(const JobFiles& files, size_t plan, size_t control) {
    json said;
    if (Fault step = read(process_.request(files.numbers(), plan, patience_s_, stop_), said); step)
      return step;
    if (said.contains("done")) return refused(json::parse(read_whole(files.descriptor(control))));
    if (said.contains("untimed")) {
      untimed_ = said["untimed"];
      return end(process_.listen(patience_s_, stop_));
    }
    open_ = true;
    has_graph_ = said.at("graph").get<bool>();
    launch_ms_ = timing::median(said.at("nothing_us").get<std::vector<double>>()) / 1e3;
    return {};
  }

  // Copies of megabytes, which the references make at the same time.
  Fault prepare(size_t draw) override {
    json said;
    return process_.post({{"window", "prepare"}, {"draw", draw}}) ? Fault{} : read({}, said);
  }
  Fault await_ready() override {
    json said;
    return read(process_.listen(patience_s_, stop_), said);
  }

  Fault time(TimedCall& call) override {
    json said;
    Fault step = tell({{"window", "time"}, {"by_stream", by_stream}}, said);
    if (step) return step;
    call.event_ms = said.at("event_ms").get<double>();
    call.host_ms = said.at("host_ms").get<double>();
    return step;
  }

  Fault close() {
    if (!open_) return {};
    open_ = false;
    return end(process_.tell({{"window", "close"}}, patience_s_, stop_));
  }

  const std::string& untimed() const { return untimed_; }
  bool has_graph() const { return has_graph_; }
  double launch_ms() const { return launch_ms_; }
  bool reusable() const { return reusable_; }  // the process, after its end
  bool is_silent() const { return silent_; }
  bool by_stream = false;

 private:
  Fault tell(const json& asked, json& said) { return read(process_.tell(asked, patience_s_, stop_), said); }

  Fault end(const GpuProcess::Said& answer) {
    json said;
    Fault step = read(answer, said);
    if (!step) reusable_ = !said.value("retire", true);
    return step;
  }

  static Fault refused(const json& control) {
    if (control.contains("unsupported"))
      return Fault::of_program(FaultClass::kUnsupported, control["unsupported"]);
    return Fault::infrastructure(control.value("error", "the GPU's process opens no window"));
  }

  Fault read(const GpuProcess::Said& answer, json& said) {
    using Kind = GpuProcess::Reply::Kind;
    said = answer.content;
    if (answer.kind == Kind::kDone && !said.contains("fault") && !said.contains("error")) return {};
    open_ = false;
    if (said.contains("fault")) return read_fault(said["fault"]);
    if (said.contains("error")) return Fault::infrastructure(said["error"]);
    if (answer.kind == Kind::kCancelled) return Fault::infrastructure("cancelled");
    silent_ = answer.kind == Kind::kSilent;
    if (silent_) return Fault::infrastructure("the GPU's process does not answer");
    return Fault::infrastructure("the GPU's process " + process_.end());
  }

  GpuProcess& process_;
  const double patience_s_;
  const std::stop_token stop_;
  std::string untimed_;
  bool open_ = false, has_graph_ = false, reusable_ = false, silent_ = false;
  double launch_ms_ = 0;
};

// One way to run the reference. All ways share their inputs, which the first one asks for.
class ReferenceParty : public timing::TimedParty {
 public:
  ReferenceParty(Baseline::Session& session, std::string side, bool is_first, bool by_stream)
      : session_(session), side_(std::move(side)), is_first_(is_first), by_stream_(by_stream) {}
  Fault prepare(size_t draw) override { return is_first_ ? session_.prepare(draw) : Fault{}; }
  Fault await_ready() override { return is_first_ ? session_.await_ready() : Fault{}; }
  Fault time(TimedCall& call) override { return session_.time(side_, by_stream_, call); }

 private:
  Baseline::Session& session_;
  const std::string side_;
  const bool is_first_, by_stream_;
};

json describe_leaves(const InputLayout& layout) {
  json leaves = json::array();
  for (const InputLayout::Leaf& leaf : layout.leaves)
    leaves.push_back({{"offset", leaf.offset_bytes},
                      {"bytes", leaf.bytes},
                      {"shape", leaf.tensor.sizes},
                      {"strides", leaf.tensor.strides},
                      {"dtype", to_string(leaf.tensor.dtype)}});
  return leaves;
}

void wait_for(double seconds, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
}

double in_tenths(double value) { return std::lround(10 * value) / 10.0; }

json describe_parts(const timing::WindowParts& parts) {
  return {{"prepare", in_tenths(1e3 * parts.prepare_s)},
          {"check", in_tenths(1e3 * parts.check_s)},
          {"candidate_calls", in_tenths(1e3 * parts.candidate_s)},
          {"reference_calls", in_tenths(1e3 * parts.baselines_s)}};
}

json describe_health(const timing::HealthSummary& health) {
  if (!health.known) return {{"unknown", health.unknown_because}};
  return {{"sm_mhz", {health.least_sm_mhz, health.most_sm_mhz}},
          {"memory_mhz", health.memory_mhz},
          {"temperature_c", health.most_temperature_c},
          {"slowed_by", timing::reasons_text(health.reasons)},
          {"processes", health.most_tenants}};
}

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
    if (result.end = add_draws(); result.end) return;
    clock_.restart();
    Baseline::Session references(*backend_.baseline_, stop_);
    taken("queue");  // for the references' process
    if (result.end = open(references); result.end) return;
    taken("reference");
    if (result.untimed = references.untimed(); !result.untimed.empty()) return;
    bool silent = false;
    {
      // Before there is a process, which other programs' runs can use as long as ranks work on the device.
      const DeviceTurn turn = DeviceTurn::alone(backend_.bus_, stop_);
      if (!turn) return void(result.end = Fault::infrastructure("cancelled"));
      DeviceLease::Hold hold;  // given back last: until its process has ended a kernel may run
      ProcessLease process(backend_, stop_);
      if (!process) return void(result.end = Fault::infrastructure(backend_.why_no_process()));
      if (const auto hello = process->hello(kGpuStart_s, stop_); !hello)
        return void(result.end = Fault::infrastructure("GPU: " + hello.reason()));
      LoaderParty candidate(*process.operator->(), options_.run_s + kGpuGrace_s, stop_);
      hold = backend_.lease_->take(stop_);
      if (!hold) return void(result.end = Fault::infrastructure("cancelled"));
      taken("device");  // until nobody else had it
      time(assembled, candidate, references, result);
      if (candidate.reusable()) process.keep();
      silent = result.end && candidate.is_silent();
    }
    if (silent) result.end = backend_.silent(stop_);
  }

 private:
  void taken(const char* stage) {
    stages_[stage] = in_tenths(clock_.ms());
    clock_.restart();
  }

  // The inputs' files, which both sides have as their first ones.
  Fault add_draws() {
    for (const DrawInputs& draw : plan_.draws) {
      const auto encoded = encode_inputs(plan_.trace->inputs, {*draw.leaves});
      if (!encoded) return Fault::infrastructure(encoded.reason());
      draws_.push_back(for_candidate_.add(std::string_view(encoded.value())));
      UniqueFd same(dup(for_candidate_.descriptor(draws_.back())));
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
               {"draws", draws_}};
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
    asked["draws"] = draws_;
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
                                  .draws = draws_.size(),
                                  .check = [&](size_t draw) { return check(draw); },
                                  .health = [&] { return backend_.monitor_->look(); },
                                  .random = secret_number,
                                  .rest = [&](int windows) { wait_for(windows * kRest_s, stop_); },
                                  .seconds = [clock = Stopwatch()] { return clock.seconds(); }};
    if (options_.timing.torch_compile) setting.baselines.push_back(&compiled);
    const timing::WindowResult window = timing::conduct(setting, options_.timing.window, stop_);
    taken("window");
    backend_.windows_ += window.windows;
    backend_.repeated_windows_ += static_cast<int64_t>(window.repeated_because.size());
    result.end = window.end;
    if (result.end) return;
    if (result.untimed = window.unsteady; !result.untimed.empty()) return;
    // What was measured stays good if the process is not.
    (void)candidate.close();
    summarise(window, candidate, result);
  }

  Fault check(size_t draw) {
    read_whole(for_candidate_.descriptor(outputs_), answer_);
    if (answer_.size() != plan_.trace->output_layout().draw_bytes)
      return Fault::infrastructure("the outputs of a timed call are cut off");
    return plan_.check(draw, answer_);
  }

  // That the device's memory takes at its peak rate for what nobody can leave out. L2 is cold when a call
  // begins, and may keep what is written.
  double least_ms() const {
    if (backend_.memory_gb_per_s_ <= 0) return 0;
    const uint64_t written =
        plan_.least_written_bytes - std::min(plan_.least_written_bytes, backend_.l2_bytes_);
    return static_cast<double>(plan_.least_read_bytes + written) / (backend_.memory_gb_per_s_ * 1e6);
  }

  void summarise(const timing::WindowResult& window, const LoaderParty& candidate,
                 TimingResult& result) const {
    std::vector<double> candidate_times, eager_times;
    for (const timing::Pair& pair : window.pairs.front()) {
      candidate_times.push_back(pair.candidate_ms);
      eager_times.push_back(pair.baseline_ms);
    }
    const timing::Ratio ratio = timing::estimate_ratio(window.pairs.front());
    const double candidate_ms = timing::median(candidate_times), floor_ms = least_ms();
    json measured{
        {"pairs", ratio.pairs},
        {"speedup", {ratio.low, ratio.high}},  // holds the true median with some 94 %, as windows end by it
        {"eager_median_ms", timing::median(eager_times)},
        {"replayed", !candidate.by_stream},
        {"launch_us", 1e3 * candidate.launch_ms()},
        {"clock_gap_us", 1e3 * window.clock_gap_ms},
        {"windows", window.windows},
        {"stages_ms", stages_},
        {"window_ms", describe_parts(window.parts)},
        {"repeated_because", window.repeated_because},
        {"device", describe_health(window.health)}};
    timing::Ratio compiled;
    if (window.pairs.size() > 1) {
      compiled = timing::estimate_ratio(window.pairs[1]);
      measured["torch_compile_speedup"] = {compiled.low, compiled.high};
    }
    result.measurement = measured.dump(-1, ' ', true, json::error_handler_t::replace);
    if (candidate_ms < floor_ms) {
      result.untimed = concat("its ", candidate_ms, " ms are less than the ", floor_ms,
                              " ms that the device's memory takes to move the inputs and the answer");
      return;
    }
    result.candidate_ms = candidate_ms;
    result.candidate_spread_ms = timing::interquartile_range(candidate_times);
    result.eager_ms = ratio.value * candidate_ms;
    result.eager_spread_ms = timing::interquartile_range(eager_times);
    result.torch_compile_ms = compiled.value * candidate_ms;
    result.roofline_fraction = floor_ms / candidate_ms;
  }

  GpuBackend& backend_;
  const GpuOptions& options_;
  const TimingPlan& plan_;
  const std::stop_token stop_;
  JobFiles for_candidate_, for_references_;
  std::vector<size_t> draws_;  // their numbers, which are the same for both
  size_t outputs_ = 0;
  std::string answer_;  // of the call that was timed last
  Stopwatch clock_;
  json stages_ = json::object();  // milliseconds that each took
};

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

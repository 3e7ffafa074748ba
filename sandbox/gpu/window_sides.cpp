#include "sandbox/gpu/window_sides.h"

#include <cmath>
#include <condition_variable>
#include <mutex>

#include "sandbox/verifier/run_report.h"

namespace bicrl {

using nlohmann::json;
using timing::TimedCall;

namespace {

Fault refused(const json& control) {
  if (control.contains("unsupported"))
    return Fault::of_program(FaultClass::kUnsupported, control["unsupported"]);
  return Fault::infrastructure(control.value("error", "the GPU's process opens no window"));
}

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

Fault LoaderParty::request(const JobFiles& files, size_t plan, size_t control, GpuProcess::Said& answer) {
  reusable_ = false;
  answer = process_.request(files.numbers(), plan, patience_s_, stop_);
  if (Fault step = read(answer); step) return step;
  if (answer.content.contains("done")) return refused(json::parse(read_whole(files.descriptor(control))));
  return {};
}

Fault LoaderParty::open(const JobFiles& files, size_t plan, size_t control) {
  GpuProcess::Said answer;
  if (Fault step = request(files, plan, control, answer); step) return step;
  if (answer.content.contains("untimed")) {
    untimed_ = answer.content["untimed"];
    return end(process_.listen(patience_s_, stop_));
  }
  open_ = true;
  take_clock(answer.content);
  return {};
}

void LoaderParty::take_clock(const json& said) {
  has_graph_ = said.at("graph").get<bool>();
  launch_ms_ = timing::median(said.at("nothing_us").get<std::vector<double>>()) / 1e3;
}

// Copies of megabytes, which the references make at the same time.
Fault LoaderParty::prepare(size_t test_input) {
  return process_.post({{"window", "prepare"}, {"test_input", test_input}}) ? Fault{} : read({});
}

Fault LoaderParty::await_ready() { return read(process_.listen(patience_s_, stop_)); }

Fault LoaderParty::time(TimedCall& call) {
  GpuProcess::Said said;
  Fault step = tell({{"window", "time"}, {"by_stream", by_stream}}, said);
  if (step) return step;
  call.event_ms = said.content.at("event_ms").get<double>();
  call.host_ms = said.content.at("host_ms").get<double>();
  return step;
}

Fault LoaderParty::close() {
  if (!open_) return {};
  open_ = false;
  return end(process_.tell({{"window", "close"}}, patience_s_, stop_));
}

Fault LoaderParty::tell(const json& asked, GpuProcess::Said& answer) {
  answer = process_.tell(asked, patience_s_, stop_);
  return read(answer);
}

Fault LoaderParty::end(const GpuProcess::Said& answer) {
  Fault step = read(answer);
  if (!step) reusable_ = !answer.content.value("retire", true);
  return step;
}

Fault LoaderParty::read(const GpuProcess::Said& answer) {
  using Kind = GpuProcess::Reply::Kind;
  const json& said = answer.content;
  if (answer.kind == Kind::kDone && !said.contains("fault") && !said.contains("error")) return {};
  open_ = false;
  if (said.contains("fault")) return read_fault(said["fault"]);
  if (said.contains("error")) return Fault::infrastructure(said["error"]);
  if (answer.kind == Kind::kCancelled) return Fault::infrastructure("cancelled");
  silent_ = answer.kind == Kind::kSilent;
  if (silent_) return Fault::infrastructure("the GPU's process does not answer");
  return Fault::infrastructure("the GPU's process " + process_.end());
}

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

void summarise(const timing::WindowResult& window, const WindowBasis& basis, TimingResult& result) {
  std::vector<double> candidate_times, eager_times;
  for (const timing::Pair& pair : window.pairs.front()) {
    candidate_times.push_back(pair.candidate_ms);
    eager_times.push_back(pair.baseline_ms);
  }
  const timing::Ratio ratio = timing::estimate_ratio(window.pairs.front());
  const double candidate_ms = timing::median(candidate_times);
  json measured{
      {"pairs", ratio.pairs},
      {"speedup", {ratio.low, ratio.high}},  // holds the true median with some 94 %, as windows end by it
      {"eager_median_ms", timing::median(eager_times)},
      {"replayed", !basis.by_stream},
      {"launch_us", 1e3 * basis.launch_ms},
      {"clock_gap_us", 1e3 * window.clock_gap_ms},
      {"windows", window.windows},
      {"stages_ms", basis.stages_ms},
      {"window_ms", describe_parts(window.parts)},
      {"repeated_because", window.repeated_because},
      {"device", describe_health(window.health)}};
  timing::Ratio compiled;
  if (window.pairs.size() > 1) {
    compiled = timing::estimate_ratio(window.pairs[1]);
    measured["torch_compile_speedup"] = {compiled.low, compiled.high};
  }
  result.measurement = measured.dump(-1, ' ', true, json::error_handler_t::replace);
  if (candidate_ms < basis.floor_ms) {
    result.untimed = concat("its ", candidate_ms, " ms are less than the ", basis.floor_ms,
                            " ms that the device's memory takes to move the inputs and the answer");
    return;
  }
  result.candidate_ms = candidate_ms;
  result.candidate_spread_ms = timing::interquartile_range(candidate_times);
  result.eager_ms = ratio.value * candidate_ms;
  result.eager_spread_ms = timing::interquartile_range(eager_times);
  result.torch_compile_ms = compiled.value * candidate_ms;
  result.roofline_fraction = basis.floor_ms / candidate_ms;
}

}  // namespace bicrl

#include "sandbox/runtimes/gpu/session_channel.h"

#include "sandbox/box/process/descriptor_passing.h"
#include "sandbox/trace_run/planned_run.h"

namespace bicrl {
namespace {

using nlohmann::json;

constexpr int kLaunchesOfNothing = 9;
// Longer than a server takes to think; one that is gone is seen at once.
constexpr double kPatience_s = 3600;

}  // namespace

json SessionChannel::next() const {
  if (!wait_readable(socket_, kPatience_s, {})) return {};
  return receive_packet(socket_).content;
}

bool SessionChannel::say(const json& what, const std::vector<int>& descriptors) const {
  return send_packet(socket_, what.dump(-1, ' ', true, json::error_handler_t::replace), descriptors);
}

bool SessionChannel::end(const ptx::KernelFault& fault) const {
  say({{"fault", to_json(fault)}});
  return false;
}

bool SessionChannel::end(const gpu::DriverError& error) const {
  say({{"error", concat("GPU: ", error.what())}});
  return false;
}

json launches_of_nothing_us(gpu::DeviceClock& clock, bool by_stream) {
  json times = json::array();
  for (int i = 0; i < kLaunchesOfNothing; ++i)
    times.push_back(1e3 * clock.measure_nothing(by_stream).event_ms);
  return times;
}

std::optional<ptx::KernelFault> time_call(gpu::TimedRun& timed, bool by_stream, json& said) {
  gpu::TimedSpan span;
  if (auto fault = timed.time(by_stream, span)) return fault;
  said["event_ms"] = span.event_ms;
  said["host_ms"] = span.host_ms;
  return std::nullopt;
}

}  // namespace bicrl

#include "sandbox/runtimes/gpu/window_session.h"

#include "sandbox/box/process/descriptor_passing.h"
#include "sandbox/runtimes/gpu/mapped_file.h"

namespace bicrl {
namespace {

using nlohmann::json;

constexpr int kLaunchesOfNothing = 9;
// Longer than a server takes to think; one that is gone is seen at once.
constexpr double kPatience_s = 3600;

class WindowSession {
 public:
  WindowSession(gpu::Driver& driver, gpu::DeviceClock& clock, gpu::SharedPoison& poison, gpu::DeviceRun& run,
                size_t output_bytes, const WindowFiles& files)
      : driver_(driver),
        clock_(clock),
        poison_(poison),
        run_(run),
        outputs_(MappedFile::writable(files.outputs, output_bytes)),
        files_(files) {}

  bool serve() {
    // Once as any plain run: what a kernel is at fault for is told with its name.
    if (const auto fault = run_.trace_run().run(files_.inputs(0))) return end(*fault);
    gpu::TimedRun timed(driver_, clock_, run_);
    if (!timed.problem().empty()) return say({{"untimed", timed.problem()}});
    json nothing_us = json::array();
    for (int i = 0; i < kLaunchesOfNothing; ++i)
      nothing_us.push_back(1e3 * clock_.measure_nothing(!timed.has_graph()).event_ms);
    if (!say({{"opened", true}, {"graph", timed.has_graph()}, {"nothing_us", nothing_us}})) return false;
    while (true) {
      const json asked = next();
      const std::string what = asked.is_object() ? asked.value("window", "") : "";
      std::optional<ptx::KernelFault> fault;
      json said{{"step", "done"}};
      if (what == "prepare") {
        poison_.spread();  // nothing of the call before is left in shared memory, either
        fault = timed.prepare(files_.inputs(asked.at("draw").get<size_t>()));
      } else if (what == "time") {
        fault = time(timed, asked.at("by_stream").get<bool>(), said);
      } else {
        return what == "close";
      }
      if (fault) return end(*fault);
      if (!say(said)) return false;
    }
  }

 private:
  std::optional<ptx::KernelFault> time(gpu::TimedRun& timed, bool by_stream, json& said) {
    gpu::TimedSpan span;
    if (auto fault = timed.time(by_stream, span)) return fault;
    run_.trace_run().store_outputs(outputs_.bytes(), nullptr);
    said["event_ms"] = span.event_ms;
    said["host_ms"] = span.host_ms;
    return std::nullopt;
  }

  json next() const {
    if (!wait_readable(files_.channel, kPatience_s, {})) return {};
    return receive_packet(files_.channel).content;
  }

  bool say(const json& what) const {
    return send_packet(files_.channel, what.dump(-1, ' ', true, json::error_handler_t::replace), {});
  }

  // A kernel that wrote beside its buffers may have written anywhere in the context.
  bool end(const ptx::KernelFault& fault) const {
    say({{"fault",
          {{"class", to_string(fault.fault_class)}, {"message", fault.message}, {"kernel", fault.kernel}}}});
    return false;
  }

  gpu::Driver& driver_;
  gpu::DeviceClock& clock_;
  gpu::SharedPoison& poison_;
  gpu::DeviceRun& run_;
  const MappedFile outputs_;
  const WindowFiles& files_;
};

}  // namespace

bool serve_window(gpu::Driver& driver, gpu::DeviceClock& clock, gpu::SharedPoison& poison,
                  gpu::DeviceRun& run, size_t output_bytes, const WindowFiles& files) {
  try {
    return WindowSession(driver, clock, poison, run, output_bytes, files).serve();
  } catch (const gpu::DriverError& error) {
    run.device().lose_context();
    send_packet(files.channel, json{{"error", concat("GPU: ", error.what())}}.dump(), {});
    return false;
  }
}

}  // namespace bicrl

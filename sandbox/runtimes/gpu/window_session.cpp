#include "sandbox/runtimes/gpu/window_session.h"

#include "sandbox/runtimes/gpu/mapped_file.h"
#include "sandbox/runtimes/gpu/session_channel.h"

namespace bicrl {
namespace {

using nlohmann::json;

class WindowSession {
 public:
  WindowSession(gpu::Driver& driver, gpu::DeviceClock& clock, gpu::SharedPoison& poison, gpu::DeviceRun& run,
                size_t output_bytes, const WindowFiles& files)
      : channel_(files.channel),
        driver_(driver),
        clock_(clock),
        poison_(poison),
        run_(run),
        outputs_(MappedFile::writable(files.outputs, output_bytes)),
        files_(files) {}

  bool serve() {
    // Once as any plain run: a fault of a kernel is reported with its name.
    if (const auto fault = run_.trace_run().run(files_.inputs(0))) return channel_.end(*fault);
    gpu::TimedRun timed(driver_, clock_, run_);
    if (!timed.problem().empty()) return channel_.say({{"untimed", timed.problem()}});
    const json nothing_us = launches_of_nothing_us(clock_, !timed.has_graph());
    if (!channel_.say({{"opened", true}, {"graph", timed.has_graph()}, {"nothing_us", nothing_us}}))
      return false;
    while (true) {
      const json asked = channel_.next();
      const std::string what = asked.is_object() ? asked.value("window", "") : "";
      std::optional<ptx::KernelFault> fault;
      json said{{"step", "done"}};
      if (what == "prepare") {
        poison_.spread();  // nothing of the call before is left in shared memory, either
        fault = timed.prepare(files_.inputs(asked.at("test_input").get<size_t>()));
      } else if (what == "time") {
        fault = time_call(timed, asked.at("by_stream").get<bool>(), said);
        if (!fault) fault = run_.trace_run().store_outputs(outputs_.bytes(), nullptr);
      } else {
        return what == "close";
      }
      if (fault) return channel_.end(*fault);
      if (!channel_.say(said)) return false;
    }
  }

 private:
  const SessionChannel channel_;
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
    return SessionChannel(files.channel).end(error);
  }
}

}  // namespace bicrl

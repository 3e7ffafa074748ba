#include "sandbox/gpu/loader/timed_run.h"

namespace bicrl::gpu {

TimedRun::TimedRun(Driver& driver, DeviceClock& clock, DeviceRun& run)
    : driver_(driver), clock_(clock), run_(run), problem_(run.enqueue_problem()) {
  if (problem_.empty()) graph_ = clock_.capture([&] { run_.enqueue(clock_.stream()); });
}

// A lost context is left as it is: its process ends next.
TimedRun::~TimedRun() {
  if (!graph_ || run_.device().context_lost()) return;
  try {
    driver_.destroy(graph_);
  } catch (const DriverError&) {
  }
}

std::optional<ptx::KernelFault> TimedRun::time(bool by_stream, TimedSpan& span) {
  const bool replayed = graph_ && !by_stream;
  const auto enqueue = [&] {
    if (replayed)
      driver_.launch(graph_, clock_.stream());
    else
      run_.enqueue(clock_.stream());
  };
  try {
    if (clock_.measure(enqueue, replayed ? 1 : run_.operations(), run_.limit_s(), span))
      return run_.trace_run().find_breach();
  } catch (const DriverError& error) {
    run_.device().lose_context();
    const auto fault_class = fault_class_of(error.code(), FaultPlace::kKernel);
    if (!fault_class) throw;
    return ptx::KernelFault{*fault_class, fault_message_of(error.code()), ""};
  }
  run_.device().lose_context();
  return ptx::KernelFault{FaultClass::kTimeout,
                          concat("has not ended after ", run_.limit_s(), " s on the device"), ""};
}

}  // namespace bicrl::gpu

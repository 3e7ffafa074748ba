// A recording's first call, timed on a device again and again from the same beginning (DeviceRun::renew). Not
// thread-safe; throws DriverError where neither the program nor its kernels are at fault.
#pragma once
#include <optional>
#include <string>

#include "sandbox/gpu/loader/device_clock.h"
#include "sandbox/gpu/loader/device_run.h"

namespace bicrl::gpu {

class TimedRun {
 public:
  // `run` is renewable and has run once. All outlive this.
  TimedRun(Driver& driver, DeviceClock& clock, DeviceRun& run);
  ~TimedRun();
  TimedRun(const TimedRun&) = delete;
  TimedRun& operator=(const TimedRun&) = delete;

  // Why there are no times of this recording; empty if there may be.
  const std::string& problem() const { return problem_; }
  // Whether the call is replayed from a graph; else its operations go into a stream one by one.
  bool has_graph() const { return graph_ != nullptr; }

  std::optional<ptx::KernelFault> prepare(const CallInputs& inputs) { return run_.renew(inputs); }
  // Of the call, once it is prepared; without a graph if `by_stream`.
  std::optional<ptx::KernelFault> time(bool by_stream, TimedSpan& span);

 private:
  Driver& driver_;
  DeviceClock& clock_;
  DeviceRun& run_;
  const std::string problem_;
  GraphHandle graph_ = nullptr;
};

}  // namespace bicrl::gpu

// Times spans of work on a device, with a cold L2, by the device's events and by the host's clock. One for
// each context, which it stays with: a stream, events, and memory to overwrite L2 with. Not thread-safe;
// throws DriverError.
#pragma once
#include <functional>
#include <string>

#include "sandbox/gpu/loader/driver.h"

namespace bicrl::gpu {

// nothing(): a kernel that does nothing, for what a launch costs by itself.
constexpr const char* kNothingText = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry nothing() { ret; }
)";

struct TimedSpan {
  double event_ms = 0;  // by the device's events
  double host_ms = 0;   // by the host's clock, from when it saw the first event to when it saw the second
};

class DeviceClock {
 public:
  // `nothing`: machine code of the text above. `driver` outlives this.
  DeviceClock(Driver& driver, std::string nothing);

  StreamHandle stream() const { return stream_; }
  // What is enqueued into stream() as a graph; null where the driver does not capture it.
  GraphHandle capture(const std::function<void()>& enqueue);
  // Of what is enqueued into stream(), so many operations. The device was busy with other memory until the
  // host had issued all of it, so that the host's pace is not what is measured. False if it has not ended
  // within the limit.
  bool measure(const std::function<void()>& enqueue, size_t operations, double limit_s, TimedSpan& span);
  // Of the kernel that does nothing.
  TimedSpan measure_nothing(bool by_stream);

 private:
  void make_busy(size_t operations);
  Driver& driver_;
  const std::string machine_code_;
  StreamHandle stream_ = nullptr;
  EventHandle start_ = nullptr, end_ = nullptr;
  uint64_t flushed_bytes_ = 0;  // more than L2 holds
  DeviceAddress flushed_ = 0;
  KernelHandle nothing_ = nullptr;
  GraphHandle nothing_graph_ = nullptr;
};

}  // namespace bicrl::gpu

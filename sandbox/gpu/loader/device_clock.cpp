#include "sandbox/gpu/loader/device_clock.h"

#include <algorithm>

namespace bicrl::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kLeastFlushBytes = 32 << 20;
constexpr double kHostPerOperation_s = 15e-6;  // until the driver has taken an operation, amply
constexpr size_t kOwnOperations = 4;           // events, and the wait for the last of them
constexpr double kFlushRate = 5e12;            // bytes in a second that no device's memory exceeds by much
constexpr size_t kMostFlushes = 4096;
constexpr double kNothingLimit_s = 10;

}  // namespace

DeviceClock::DeviceClock(Driver& driver, std::string nothing)
    : driver_(driver),
      machine_code_(std::move(nothing)),
      stream_(driver.make_stream()),
      start_(driver.make_event()),
      end_(driver.make_event()),
      flushed_bytes_(std::max(kLeastFlushBytes, 2 * driver.device().l2_bytes)),
      flushed_(driver.allocate(flushed_bytes_)),
      nothing_(driver.kernel(driver.load(machine_code_), "nothing")),
      nothing_graph_(capture([&] { driver_.start(nothing_, {}, stream_); })) {}

GraphHandle DeviceClock::capture(const std::function<void()>& enqueue) {
  driver_.begin_capture(stream_);
  bool captured = true;
  try {
    enqueue();
  } catch (const DriverError&) {
    captured = false;
  }
  // It has to be ended, also where its end is an error: then the stream is as it was before.
  try {
    const GraphHandle graph = driver_.end_capture(stream_);
    if (captured) return graph;
    driver_.destroy(graph);
  } catch (const DriverError&) {
  }
  return nullptr;
}

void DeviceClock::make_busy(size_t operations) {
  const double one_s = static_cast<double>(flushed_bytes_) / kFlushRate;
  const double wanted_s = kHostPerOperation_s * static_cast<double>(operations + kOwnOperations);
  const size_t flushes = std::min(kMostFlushes, static_cast<size_t>(wanted_s / one_s) + 1);
  for (size_t i = 0; i < flushes; ++i)
    driver_.enqueue_fill(flushed_, 4, static_cast<uint32_t>(i), flushed_bytes_ / 4, stream_);
}

bool DeviceClock::measure(const std::function<void()>& enqueue, size_t operations, double limit_s,
                          TimedSpan& span) {
  const auto limit = std::chrono::nanoseconds(static_cast<int64_t>(limit_s * 1e9));
  // What went before is in no stream.
  if (!driver_.wait(Clock::now() + limit)) return false;
  make_busy(operations);
  driver_.record(start_, stream_);
  enqueue();
  driver_.record(end_, stream_);
  const auto deadline = Clock::now() + limit;
  // Without a pause: what the host sees late is missing in its span.
  const auto reach = [&](EventHandle event) {
    while (!driver_.reached(event))
      if (Clock::now() > deadline) return false;
    return true;
  };
  if (!reach(start_)) return false;
  const auto begin = Clock::now();
  if (!reach(end_)) return false;
  span.host_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  span.event_ms = driver_.elapsed_ms(start_, end_);
  return true;
}

TimedSpan DeviceClock::measure_nothing(bool by_stream) {
  TimedSpan span;
  const auto enqueue = [&] {
    if (nothing_graph_ && !by_stream)
      driver_.launch(nothing_graph_, stream_);
    else
      driver_.start(nothing_, {}, stream_);
  };
  if (!measure(enqueue, 1, kNothingLimit_s, span))
    throw DriverError(0, "the device does not come back from a kernel of the verifier's own");
  return span;
}

}  // namespace bicrl::gpu

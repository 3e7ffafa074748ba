// Holds back what is queued on a stream until the host says so: the launches of work whose inputs the host
// does not know yet can be queued while the device is busy with what they follow from, and cost no time
// between the two. Owns a word of pinned memory, at which a kernel of one thread looks. Not thread-safe.
#pragma once
#include <atomic>
#include <cstdint>

#include "policy/gpu/gpu_kernels.h"

namespace bicrl::gpu {

class LaunchGate {
 public:
  // Of the current device.
  LaunchGate();
  ~LaunchGate();
  LaunchGate(const LaunchGate&) = delete;
  LaunchGate& operator=(const LaunchGate&) = delete;

  // What is queued on the stream behind it waits for open(). Until then the host must not wait for the
  // stream, nor for anything that waits for all streams.
  void close(Stream stream);
  // What the host has written by now, the device reads behind the gate.
  void open();

 private:
  std::atomic<int64_t>* opened_;  // pinned
  int64_t closed_ = 0;            // gates so far
};

}  // namespace bicrl::gpu

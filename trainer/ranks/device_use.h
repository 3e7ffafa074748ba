// A rank at work on its device, from construction to the end: on a GPU whose verifier measures times its
// windows wait for that, so that nothing else runs where a program is timed (common/device_lock.h). What can
// stop for a moment lends the device to them. Nothing on the CPU.
#pragma once
#include <c10/core/Device.h>

#include <optional>
#include <string>

#include "common/clock.h"
#include "common/device_lock.h"
#include "rollout/decoding/shared_device.h"

namespace bicrl {

class DeviceUse : public SharedDevice {
 public:
  // Waits for a window that has begun. Throws Error, naming the device, if that does not end.
  explicit DeviceUse(const c10::Device& device);
  // Waits for what the device still has to do, unless an exception ends the use.
  ~DeviceUse() override;
  DeviceUse(const DeviceUse&) = delete;
  DeviceUse& operator=(const DeviceUse&) = delete;

  bool is_wanted() override;
  void lend() override;
  double waited_seconds() const { return waited_s_; }  // for windows, until now

 private:
  void take();
  const c10::Device device_;
  const int failures_before_;
  std::string bus_;  // empty on the CPU
  DeviceLock lock_;
  WaitingWindows windows_;
  double waited_s_ = 0;
  // Since windows were waited for in vain: another rank does not lend it. Nobody is heard for a while.
  std::optional<Stopwatch> since_refused_;
};

// Where a GPU is on the bus, as the driver numbers it (which PyTorch follows); empty if no driver says it.
std::string bus_of(int gpu);

}  // namespace bicrl

// A rank at work on its device, from construction to the end: on a GPU whose verifier measures times its
// windows wait for that, so that nothing else runs where a program is timed (common/device_turn.h). Nothing
// on the CPU.
#pragma once
#include <c10/core/Device.h>

#include <string>

#include "common/device_turn.h"

namespace bicrl {

class DeviceUse {
 public:
  explicit DeviceUse(const c10::Device& device);
  // Waits for what the device still has to do, unless an exception ends the use.
  ~DeviceUse();
  DeviceUse(const DeviceUse&) = delete;
  DeviceUse& operator=(const DeviceUse&) = delete;

 private:
  const c10::Device device_;
  const int failures_before_;
  DeviceTurn turn_;
};

// Where a GPU is on the bus, as the driver numbers it (which PyTorch follows); empty if no driver says it.
std::string bus_of(int gpu);

}  // namespace bicrl

// Monitor of a device by NVML: its clocks, the reasons why it is slow, and other processes on it. The library
// is looked for at run time; without it nothing is known, and that is reported. Thread-safe.
#pragma once
#include <mutex>
#include <string>

#include "sandbox/gpu/timing/device_health.h"

namespace bicrl {

class DeviceMonitor {
 public:
  // `bus`: as the driver says it, "0000:18:00.0".
  explicit DeviceMonitor(const std::string& bus);
  // Empty if there is something to look at.
  const std::string& problem() const { return problem_; }
  timing::DeviceHealth look();

 private:
  struct Interface {
    int (*init)() = nullptr;
    int (*by_bus)(const char*, void**) = nullptr;
    int (*clock)(void*, int, unsigned*) = nullptr;
    int (*temperature)(void*, int, unsigned*) = nullptr;
    int (*reasons)(void*, unsigned long long*) = nullptr;
    int (*processes)(void*, unsigned*, void*) = nullptr;
  };
  Interface call_;
  void* device_ = nullptr;
  std::string problem_;
  std::mutex mutex_;
};

}  // namespace bicrl

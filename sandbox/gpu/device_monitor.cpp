#include "sandbox/gpu/device_monitor.h"

#include <dlfcn.h>

#include <filesystem>
#include <type_traits>

#include "common/error.h"
#include "sandbox/gpu/gpu_box.h"

namespace bicrl {
namespace {

// Values and structures of the library's interface; source: NVIDIA, "NVML API Reference Guide", version 13.
constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr int kSmClock = 1, kMemoryClock = 2, kCoreTemperature = 0, kInsufficientSize = 7;

}  // namespace

DeviceMonitor::DeviceMonitor(const std::string& bus) {
  const std::filesystem::path path = find_driver_library(kLibrary);
  void* library = dlopen(path.empty() ? kLibrary : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    problem_ = concat("NVML (", kLibrary, ") is not there");
    return;
  }
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    void* address = dlsym(library, name);
    if (!address) missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(call_.init, "nvmlInit_v2");
  find(call_.by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
  find(call_.clock, "nvmlDeviceGetClockInfo");
  find(call_.temperature, "nvmlDeviceGetTemperature");
  find(call_.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(call_.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (!missing.empty())
    problem_ = concat("NVML lacks ", missing);
  else if (const int code = call_.init(); code != 0)
    problem_ = concat("NVML does not start (", code, ")");
  else if (const int found = call_.by_bus(bus.c_str(), &device_); found != 0)
    problem_ = concat("NVML does not know the device at ", bus, " (", found, ")");
}

timing::DeviceHealth DeviceMonitor::look() {
  timing::DeviceHealth health;
  health.unknown_because = problem_;
  if (!problem_.empty()) return health;
  const std::lock_guard lock(mutex_);
  unsigned processes = 0;
  unsigned long long reasons = 0;
  const int clocks =
      call_.clock(device_, kSmClock, &health.sm_mhz) | call_.clock(device_, kMemoryClock, &health.memory_mhz);
  // Without room for them it says how many there are.
  const int listed = call_.processes(device_, &processes, nullptr);
  if (clocks != 0 || call_.reasons(device_, &reasons) != 0 || (listed != 0 && listed != kInsufficientSize) ||
      call_.temperature(device_, kCoreTemperature, &health.temperature_c) != 0) {
    health.unknown_because = "NVML does not answer for this device";
    return health;
  }
  health.known = true;
  health.reasons = reasons;
  health.tenants = static_cast<int>(processes);
  return health;
}

}  // namespace bicrl

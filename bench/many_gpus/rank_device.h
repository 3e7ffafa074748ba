// The device of each rank in benches over several ranks: a GPU of its own, or the CPU, where a bench is tried
// before it runs on GPUs.
#pragma once
#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "trainer/ranks/control_plane.h"

namespace bicrl {

// Bytes of tensors, of what the allocator keeps for them, and of free pieces that it cannot give back. On the
// CPU the process's resident memory stands for both.
struct DeviceMemory {
  int64_t allocated = 0, peak_allocated = 0, reserved = 0, split = 0;
  int64_t retries = 0;  // allocations that gave all free memory back first
};

class RankDevice {
 public:
  // `name`: "cuda" or "cpu".
  RankDevice(const std::string& name, const ControlPlane& control)
      : device(name == "cpu" ? at::Device(at::kCPU)
                             : at::Device(at::kCUDA, static_cast<at::DeviceIndex>(control.local_rank()))) {
    if (device.is_cpu()) return;
    at::globalContext().lazyInitDevice(device.type());
    c10::impl::getDeviceGuardImpl(device.type())->setDevice(device);
  }

  // Policies on GPUs are in bf16, as kernels are.
  at::ScalarType dtype() const { return device.is_cpu() ? at::kFloat : at::kBFloat16; }

  void synchronize() const {
    if (!device.is_cpu()) c10::impl::getDeviceGuardImpl(device.type())->synchronizeDevice(device.index());
  }

  DeviceMemory memory() const {
    if (device.is_cpu()) return resident_memory();
    constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
    return {.allocated = stats.allocated_bytes[kAll].current,
            .peak_allocated = stats.allocated_bytes[kAll].peak,
            .reserved = stats.reserved_bytes[kAll].current,
            .split = stats.inactive_split_bytes[kAll].current,
            .retries = stats.num_alloc_retries};
  }

  const at::Device device;

 private:
  static DeviceMemory resident_memory() {
    DeviceMemory memory;
    std::ifstream status("/proc/self/status");
    for (std::string key; status >> key;) {
      int64_t kibibytes = 0;
      if (key == "VmRSS:" && status >> kibibytes) memory.allocated = memory.reserved = kibibytes * 1024;
      if (key == "VmHWM:" && status >> kibibytes) memory.peak_allocated = kibibytes * 1024;
    }
    return memory;
  }
};

}  // namespace bicrl

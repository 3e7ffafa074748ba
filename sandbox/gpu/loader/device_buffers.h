// Device memory of the buffers that a call of a program is the first to touch. Not thread-safe; throws
// DriverError.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sandbox/gpu/loader/driver.h"
#include "sandbox/trace_run/trace_device.h"

namespace bicrl::gpu {

class DeviceBuffers {
 public:
  virtual ~DeviceBuffers() = default;
  virtual DeviceAddress address(size_t buffer) const = 0;
  // Of no use to kernels from now on.
  virtual void release(size_t buffer) = 0;
  // All of it as it was first, no buffer released.
  virtual void renew() = 0;
  // The driver is not asked for anything any more: behind a kernel without end it would not answer.
  virtual void abandon() = 0;
  // By its number here. The device must be idle. Nothing where this is for somebody else to find.
  virtual std::optional<Breach> find_breach() = 0;
  // What another process may map, which holds all buffers; null: nothing may.
  virtual const SharedAllocation* shared() const { return nullptr; }
};

}  // namespace bicrl::gpu

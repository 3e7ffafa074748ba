// Buffers in one allocation on a device (memory_layout.h). What nobody wrote holds poison, as in the PTX
// machine's memory (ptx::kPoisonWord), guard bands too: what kernels write there is found afterwards. Owns
// the allocation, which is wiped before it is given back. Not thread-safe; throws DriverError.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sandbox/gpu/driver.h"
#include "sandbox/gpu/memory_layout.h"

namespace bicrl::gpu {

class GuardedMemory {
 public:
  // `driver` outlives this.
  GuardedMemory(Driver& driver, const std::vector<uint64_t>& buffer_bytes, uint64_t seed);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  DeviceAddress address(size_t buffer) const { return base_ + layout_.buffers[buffer].begin; }
  // From now on the buffer is a guard band.
  void release(size_t buffer);
  // All of it as it was first: poison, and no buffer released.
  void renew();
  // The driver is not asked for anything any more: behind a kernel without end it would not answer.
  void abandon() { base_ = 0; }

  // A byte of a guard band that no longer holds poison, and the buffer that lies nearest.
  struct Breach {
    size_t buffer = 0;
    uint64_t distance_bytes = 0;  // 0: inside the buffer, which was released
    bool behind = false;
  };
  // The device must be idle.
  std::optional<Breach> find_breach();

 private:
  void poison(const Span& span);
  Breach nearest(uint64_t place) const;
  Driver& driver_;
  const MemoryLayout layout_;
  DeviceAddress base_ = 0;
  std::vector<Span> released_;
};

}  // namespace bicrl::gpu

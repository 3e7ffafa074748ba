// Buffers in one allocation on a device (memory_layout.h). Uninitialised memory holds poison, as in the PTX
// interpreter's (ptx::kPoisonWord), guard bands too: what kernels write there is found afterwards. Owns
// the allocation, which is wiped before it is given back. Not thread-safe; throws DriverError.
#pragma once
#include <vector>

#include "sandbox/gpu/loader/device_buffers.h"
#include "sandbox/gpu/loader/memory_layout.h"

namespace bicrl::gpu {

class GuardedMemory : public DeviceBuffers {
 public:
  // `driver` outlives this.
  GuardedMemory(Driver& driver, const std::vector<uint64_t>& buffer_bytes, uint64_t seed,
                bool is_shared = false);
  ~GuardedMemory() override;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  DeviceAddress address(size_t buffer) const override { return base_ + layout_.buffers[buffer].begin; }
  // From now on the buffer is a guard band.
  void release(size_t buffer) override;
  void renew() override;
  void abandon() override { base_ = 0; }
  const SharedAllocation* shared() const override { return shared_.address != 0 ? &shared_ : nullptr; }
  // A byte of a guard band that no longer holds poison.
  std::optional<Breach> find_breach() override;

 private:
  void poison(const Span& span);
  Breach nearest(uint64_t place) const;
  Driver& driver_;
  const MemoryLayout layout_;
  SharedAllocation shared_;  // that base_ is of, if it is shared
  DeviceAddress base_ = 0;
  std::vector<Span> released_;
  std::vector<std::byte> looked_at_;  // kept, as fresh pages take longer than what is copied into them
};

}  // namespace bicrl::gpu

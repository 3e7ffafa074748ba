// Buffers in allocations of their own, as large as they are and never written to, for tools that watch the
// driver's allocations: what lies outside of them, is freed, or was never written is theirs to find. Owns the
// allocations.
#pragma once
#include <vector>

#include "sandbox/gpu/loader/device_buffers.h"

namespace bicrl::gpu {

class SeparateMemory : public DeviceBuffers {
 public:
  // `driver` outlives this.
  SeparateMemory(Driver& driver, const std::vector<uint64_t>& buffer_bytes);
  ~SeparateMemory() override;
  SeparateMemory(const SeparateMemory&) = delete;
  SeparateMemory& operator=(const SeparateMemory&) = delete;

  DeviceAddress address(size_t buffer) const override { return addresses_[buffer]; }
  void release(size_t buffer) override;
  void renew() override;  // is not to be asked for: what is timed is not watched
  void abandon() override { addresses_.clear(); }
  std::optional<Breach> find_breach() override { return std::nullopt; }

 private:
  Driver& driver_;
  std::vector<DeviceAddress> addresses_;
  std::vector<bool> released_;
};

}  // namespace bicrl::gpu

// The global and constant variables of a module in a device memory: they live from one launch to the next, as
// on a device. Owns nothing; the memory and the module must outlive it. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "sandbox/interpreter/ptx/execution/device_memory.h"
#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

class LoadedModule {
 public:
  // Gives every variable a buffer with its initial value (zeros if it has none). Fails if the memory is full.
  static Result<LoadedModule> load(const Module& module, DeviceMemory& memory);

  const Module& module() const { return *module_; }
  uint64_t address_of(uint32_t variable) const {
    return addresses_[variable];
  }  // 0 if it is in neither space
  // By variable; kNoBuffer for those that are in neither space.
  const std::vector<DeviceMemory::BufferId>& buffers() const { return buffers_; }
  static constexpr DeviceMemory::BufferId kNoBuffer = ~DeviceMemory::BufferId{0};
  // The buffer of a variable that the host names; nothing if there is no such one.
  std::optional<DeviceMemory::BufferId> find(std::string_view variable) const;

 private:
  const Module* module_ = nullptr;
  std::vector<uint64_t> addresses_;              // by variable
  std::vector<DeviceMemory::BufferId> buffers_;  // by variable
};

// What a pointer to a function holds; 0 is none.
constexpr uint64_t kFunctionWindow = uint64_t{3} << 32;
constexpr uint64_t function_address(uint32_t function) { return kFunctionWindow + 16 * uint64_t{function}; }

}  // namespace bicrl::ptx

// Does what the machine does on a GPU as well, and says where the two differ: for tests that run on a machine
// with a GPU and have BICRL_GPU_MIRROR set. Not thread-safe.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "tests/gpu/gpu_driver.h"

namespace bicrl::ptx::testing {

class GpuMirror {
 public:
  // Null unless BICRL_GPU_MIRROR is set. Buffers are those of `memory` by their address.
  static std::unique_ptr<GpuMirror> make(const std::string& ptx, DeviceMemory& memory);

  // Before the machine runs: keeps what the buffers hold.
  void keep(const std::map<uint64_t, DeviceMemory::BufferId>& buffers);
  // After it ran without a fault (a kernel that never ends would never end on a GPU): the GPU runs the same
  // launch on what was kept. Prints how many words differ.
  void run(const std::string& kernel, const LaunchConfig& config);

 private:
  GpuMirror(const std::string& ptx, DeviceMemory& memory) : memory_(memory), loaded_(driver_.load(ptx)) {}

  DeviceMemory& memory_;
  GpuDriver driver_;
  bool loaded_ = false;
  struct Kept {
    DeviceMemory::BufferId id = 0;
    std::vector<char> bytes;
    uint64_t there = 0;  // its address on the GPU
  };
  std::map<uint64_t, Kept> kept_;  // by address
};

}  // namespace bicrl::ptx::testing

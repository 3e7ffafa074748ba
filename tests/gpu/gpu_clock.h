// Times on a GPU what the machine runs: for comparing the cost model with hardware. Not thread-safe; throws
// what GpuDriver throws.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "tests/gpu/gpu_driver.h"

namespace bicrl::ptx::testing {

class GpuClock {
 public:
  explicit GpuClock(const std::string& ptx);
  ~GpuClock();
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  // One more launch of the program; buffers by their address in the machine's memory.
  void add(const std::string& kernel, const LaunchConfig& config, const DeviceMemory& memory,
           const std::map<uint64_t, DeviceMemory::BufferId>& buffers);
  // All launches after each other, with nothing of their data in the caches: the median, in milliseconds from
  // the first one's start to the last one's end.
  double median_ms(int repeats);

 private:
  struct Launch {
    std::string kernel;
    GpuLaunch launch;
  };
  struct Buffer {
    uint64_t there = 0, bytes = 0;
  };
  GpuDriver driver_;
  std::map<uint64_t, Buffer> buffers_;  // by address in the machine's memory
  std::vector<Launch> launches_;
  uint64_t flushed_ = 0;  // memory that is written over between the runs
};

}  // namespace bicrl::ptx::testing

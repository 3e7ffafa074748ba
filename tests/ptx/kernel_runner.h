// Runs kernels of a CUDA text on the PTX interpreter, for tests: buffers of values, launches, faults.
#pragma once
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/observer.h"
#include "tests/gpu/gpu_clock.h"
#include "tests/gpu/gpu_mirror.h"
#include "tests/ptx/cuda_compiler.h"

namespace bicrl::ptx::testing {

struct RunnerOptions {
  bool shadows = true;
  uint64_t seed = 1;
  bool warps_apart = false;
  std::vector<std::string> compiler_options;
  RunLimits limits{.lane_operations = uint64_t{1} << 32};
  std::string ptx;  // instead of what the compiler makes of the text
};

// "illegal_access: what is wrong (block 0, 0, 0, thread 1, 0, 0)"; empty without a fault.
std::string fault_text(const std::optional<KernelFault>& fault);

class KernelRunner {
 public:
  explicit KernelRunner(const std::string& cuda, const RunnerOptions& options = {});

  template <class T>
  uint64_t upload(const std::vector<T>& values,
                  DeviceMemory::Permission permission = DeviceMemory::Permission::kReadWrite) {
    const uint64_t address = reserve(values.size() * sizeof(T), permission);
    memory_.write(by_address_.at(address), 0,
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}, Writer::kInput);
    return address;
  }
  uint64_t reserve(uint64_t bytes,
                   DeviceMemory::Permission permission = DeviceMemory::Permission::kReadWrite);
  // Writes the first bytes of what was reserved.
  template <class T>
  void fill(uint64_t address, const std::vector<T>& values) {
    memory_.write(by_address_.at(address), 0,
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}, Writer::kInput);
  }
  template <class T>
  std::vector<T> download(uint64_t address) const {
    const DeviceMemory::Buffer& buffer = memory_.buffer(by_address_.at(address));
    std::vector<T> values(buffer.bytes / sizeof(T));
    memcpy(values.data(), buffer.data.get(), values.size() * sizeof(T));
    return values;
  }
  const DeviceMemory::Buffer& buffer(uint64_t address) const {
    return memory_.buffer(by_address_.at(address));
  }

  // Arguments are laid out as a kernel has them: each at a multiple of its size.
  template <class... Arguments>
  std::optional<KernelFault> launch(const std::string& kernel, Dim3 grid, Dim3 block, uint32_t shared_bytes,
                                    const Arguments&... arguments) {
    LaunchConfig config{.grid = grid,
                        .block = block,
                        .dynamic_shared_bytes = shared_bytes,
                        .dynamic_shared_limit = DeviceLimits{}.max_shared_bytes,
                        .parameters = {},
                        .cooperative = cooperative,
                        .grid_workspace = grid_workspace};
    (append(config.parameters, arguments), ...);
    return run(kernel, config);
  }
  std::optional<KernelFault> run(const std::string& kernel, const LaunchConfig& config);
  void reseed(uint64_t seed) { options_.seed = seed; }
  const RunCounters& counters() const { return counters_; }
  const PrintBuffer& printed() const { return *printed_; }
  bool cooperative = false;
  uint64_t grid_workspace = 0;   // of cooperative launches: see LaunchConfig
  Observer* observer = nullptr;  // of the launches
  GpuClock* clock = nullptr;     // that hears of them
  const std::string& ptx() const { return ptx_; }

 private:
  template <class T>
  static void append(std::string& bytes, const T& value) {
    bytes.resize((bytes.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  RunnerOptions options_;
  std::string ptx_;
  std::unique_ptr<Module> module_;
  DeviceMemory memory_;
  std::unique_ptr<GpuMirror> mirror_;
  std::optional<LoadedModule> loaded_;
  std::map<std::string, Kernel> kernels_;
  std::map<uint64_t, DeviceMemory::BufferId> by_address_;
  RunCounters counters_;
  std::optional<PrintBuffer> printed_;
};

}  // namespace bicrl::ptx::testing

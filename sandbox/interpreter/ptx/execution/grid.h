// A launch on its way: its configuration, the memory it works on, what it has done so far, and its blocks,
// some of which are resident at a time.
//
// Blocks begin in an order that the seed decides. A block runs until it ends, waits for ever (a fault), or
// has used up its turn; then the next one has a turn, and more blocks become resident, up to a limit. So
// every block runs eventually, and blocks may wait for each other's writes.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sandbox/interpreter/ptx/execution/device_memory.h"
#include "sandbox/interpreter/ptx/execution/kernel_fault.h"
#include "sandbox/interpreter/ptx/lowering/kernel.h"
#include "sandbox/interpreter/ptx/lowering/loaded_module.h"
#include "sandbox/interpreter/ptx/operations/print_buffer.h"

namespace bicrl::ptx {

class Observer;
class ThreadBlock;

using Dim3 = std::array<uint32_t, 3>;

// Where the threads of a cooperative launch meet: cooperative groups find its address in two special
// registers.
constexpr uint64_t kGridWorkspaceBytes = 64;

struct LaunchConfig {
  Dim3 grid{1, 1, 1};
  Dim3 block{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  // What the host part allows the kernel (an attribute of the function). Beyond the default, static memory
  // counts toward the device's limit; else all of a block's shared memory must stay within the default.
  uint32_t dynamic_shared_limit = 48 * 1024;
  std::string parameters;       // the bytes of the kernel's parameters
  bool cooperative = false;     // all blocks are resident from the start, or the launch fails
  uint64_t grid_workspace = 0;  // of cooperative launches: address of kGridWorkspaceBytes, zeros at the start
};

// What the modelled device allows. The figures of compute capability 9.0.
struct DeviceLimits {
  uint32_t max_threads = 1024;
  Dim3 max_block{1024, 1024, 64};
  Dim3 max_grid{2147483647, 65535, 65535};
  uint32_t max_shared_bytes = 227 * 1024;
  uint32_t max_static_shared_bytes = 48 * 1024;
  uint32_t sm_count = 16;
};

struct RunLimits {
  uint64_t lane_operations = uint64_t{1} << 36;
  uint32_t resident_blocks = 64;
  uint64_t frame_bytes = uint64_t{1} << 30;  // of the resident blocks together
  uint64_t printed_bytes = 64 * 1024;        // beyond which printf's text is only counted
};

// Who runs before whom, where nothing in the kernel says so.
struct RunOrder {
  uint64_t seed = 0;  // 0: blocks as they are numbered
  // Of a kernel whose threads can communicate: those of a block run in parts of whole warps
  // that the seed cuts, and take turns of a few operations; and before atomic and volatile accesses others go
  // first. Otherwise 256 threads go side by side, and blocks one after the other, as far as they can.
  bool warps_apart = false;
  std::optional<uint64_t> only = std::nullopt;  // the one block that runs, by its number in the grid
};

struct RunCounters {
  uint64_t lane_operations = 0;
  uint64_t operations = 0;  // of warp groups
  uint64_t blocks = 0;
};

// Why a device would not begin a launch; nothing if it would.
std::optional<KernelFault> launch_fault(const Kernel& kernel, const LaunchConfig& config,
                                        const DeviceLimits& device, uint32_t resident_blocks);

// Runs a launch to its end, under the eyes of an observer or none. Not thread-safe; two grids must not work
// on one memory at a time.
class Grid {
 public:
  Grid(const Kernel& kernel, LoadedModule& module, DeviceMemory& memory, const LaunchConfig& config,
       const RunLimits& limits, const DeviceLimits& device, const RunOrder& order,
       Observer* observer = nullptr);
  ~Grid();

  // Nothing, or what went wrong. Called once.
  std::optional<KernelFault> run();
  const RunCounters& counters() const { return counters_; }
  // What the threads printed, in the order in which they ran.
  const PrintBuffer& printed() const { return printer_; }

  // ---- For blocks and warp groups ----
  const Kernel& kernel() const { return kernel_; }
  LoadedModule& module() { return module_; }
  DeviceMemory& memory() { return memory_; }
  const LaunchConfig& config() const { return config_; }
  const DeviceLimits& device() const { return device_; }
  PrintBuffer& printer() { return printer_; }
  const RunOrder& order() const { return order_; }
  Observer* observer() const { return observer_; }  // null: nobody looks
  uint32_t threads_per_block() const;
  uint64_t blocks() const { return block_count_; }  // that run
  std::span<std::byte> parameters() { return {parameters_.data(), config_.parameters.size()}; }
  uint8_t* parameter_shadows() { return parameter_shadows_.empty() ? nullptr : parameter_shadows_.data(); }
  // Counts the work of `lanes` lanes over `operations` operations. Throws FaultError beyond the limit.
  void count_work(uint64_t operations, uint64_t lanes);
  uint64_t clock() const { return counters_.operations; }
  // Before the block's warp group does something that others may see or have done at once: with warps apart,
  // lets others go on for a little, or not, as the seed decides.
  void disturb(ThreadBlock& block) {
    if (disturbs_) let_others_run(block);
  }

 private:
  void run_blocks();
  void count_block(bool fresh);
  void check_work() const;
  void end_block(std::unique_ptr<ThreadBlock> block);
  void let_others_run(ThreadBlock& block);
  Dim3 coordinates(uint64_t number) const;

  const Kernel& kernel_;
  LoadedModule& module_;
  DeviceMemory& memory_;
  const LaunchConfig& config_;
  const RunLimits limits_;
  const DeviceLimits device_;
  RunOrder order_;
  bool disturbs_ = false;
  int nested_ = 0;          // calls of let_others_run() under way
  uint64_t disturbed_ = 0;  // all of them
  Observer* const observer_;
  RunCounters counters_;
  PrintBuffer printer_;
  std::vector<std::byte> parameters_;  // and some bytes more, as a vector load may pass the end
  std::vector<uint8_t> parameter_shadows_;
  uint64_t block_count_ = 0;
  std::deque<std::unique_ptr<ThreadBlock>> resident_;
  std::vector<std::unique_ptr<ThreadBlock>> idle_;  // whose memory the next block takes over
};

}  // namespace bicrl::ptx

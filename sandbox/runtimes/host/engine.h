// Runs kernels on the CPU: blocks one after another, the threads of a block on fibers. A thread runs until it
// ends or waits; so a kernel without barriers costs no switch.
#pragma once
#include <string>

#include "bicrl/launch.h"

namespace bicrl {

struct EngineOptions {
  bool reverse =
      false;  // threads and released waiters in descending order: what a missing barrier hides, shows
  unsigned char poison = 0xff;
};
EngineOptions& engine_options();

// Static shared memory of the loaded module: sections named bicrl_shared_*. Reads the file's section table.
void find_static_shared(const char* module_path, uintptr_t module_base);

struct KernelCall {
  const char* name = "";
  void (*entry)() = nullptr;
  Invoker invoker = nullptr;
  const unsigned char* arguments = nullptr;
  uint3 grid{1, 1, 1}, block{1, 1, 1};
  unsigned shared_bytes = 0;
};
// Empty when the kernel ran to its end, else what went wrong ("launch" faults: divergent barriers, traps).
struct KernelOutcome {
  std::string fault_class;
  std::string message;
};
KernelOutcome run_kernel(const KernelCall& call);
bool kernel_running();

// nullptr if a GPU would accept the configuration.
const char* launch_limit_violation(const uint64_t grid[3], const uint64_t block[3], uint64_t shared_bytes,
                                   uint64_t shared_limit);

}  // namespace bicrl

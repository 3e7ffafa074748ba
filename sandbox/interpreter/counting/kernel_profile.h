// Cost profile of a kernel: the cost of each basic block to a warp that runs it. It is known before any warp
// does, so that counting is one addition for each block that is run. Immutable once made.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "sandbox/cost/launch_counters.h"
#include "sandbox/interpreter/ptx/lowering/kernel.h"

namespace bicrl {

struct BlockProfile {
  std::array<uint64_t, kInstructionKinds> slots{};
  std::array<uint64_t, kTensorTypes> tensor_flops{};
  uint64_t executed = 0;  // all slots
  // The longest way through its dependent operations: what does not depend on each other goes on at the same
  // time, as far as accesses may pass each other, and no warp issues more than one instruction in a cycle.
  DependenceChain chain;
};

struct KernelProfile {
  std::vector<BlockProfile> blocks;           // by basic block of the kernel
  std::vector<uint32_t> slots_of_operations;  // by operation
};

// The kernel's module must still be there.
KernelProfile profile_kernel(const ptx::Kernel& kernel);

// A chain in cycles, with an access of usual length: for comparisons between chains, which count both.
uint64_t nominal_cycles(const DependenceChain& chain);

}  // namespace bicrl

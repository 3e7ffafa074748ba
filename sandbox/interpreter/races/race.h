// A race: two accesses of different threads to one word that nothing orders, one of which writes. Plain
// values.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/kernel_fault.h"
#include "sandbox/interpreter/ptx/lowering/kernel.h"

namespace bicrl::races {

// One side, as it is reported.
struct RacyAccess {
  enum class Kind : uint8_t { kRead, kWrite, kAtomic, kCopy };  // kCopy: an asynchronous one writes
  Kind kind = Kind::kRead;
  bool strong = false;
  uint32_t line = 0;  // of the device text; 0: not known
  ptx::Dim3 block{};
  int thread = 0;  // the number within its block
};

struct Race {
  std::string kernel;
  RacyAccess first, second;  // in the order in which they happened here
  bool same_block = false, same_warp = false;
  bool updates = false;              // both read the word and write it
  bool flags_without_fence = false;  // the kernel waits for flags, and has no fence
  bool non_coherent = false;         // the second reads by a load that need not see what the first wrote
  bool in_shared = false;
  uint64_t address = 0;                    // of the buffer, if it is global memory
  std::string variable;                    // of shared memory; mangled; empty if dynamic
  uint64_t variable_begin = 0;             // in shared memory
  uint64_t first_byte = 0, last_byte = 0;  // of the buffer or variable
  uint64_t count = 0;                      // pairs of accesses found
};

// "race on shared variable partial: written at line 14, read by another thread of the block at line 17; a
// __syncthreads() is missing between them". `buffer`: what a person calls the buffer. The threads and the
// elements are in KernelFault::place alone, as which they are may depend on an input.
ptx::KernelFault to_fault(const Race& race, const std::string& buffer);

// What raced, to be found again when the same run is made once more.
struct RacyWords {
  using Memory = std::pair<uint32_t, uint64_t>;  // launch; address of a buffer, or serial number of a block
  std::map<Memory, std::unordered_set<uint64_t>> words;   // by 4 bytes
  std::map<Memory, std::unordered_set<uint64_t>> early;   // those read before a racy write
  std::set<std::pair<uint32_t, uint32_t>> late_writes;    // the operations that wrote then
  std::set<std::pair<uint32_t, uint32_t>> reads, writes;  // launch; number of the operation
  uint64_t count = 0, stored = 0;                         // pairs of accesses; words
  bool complete = true;                                   // there were not too many
};

}  // namespace bicrl::races

// The interface of observers, which see a launch's memory accesses and synchronisation: races, counters. A
// grid that has no observer pays one branch for each operation of a warp group on memory.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "sandbox/interpreter/ptx/alu/lanes.h"
#include "sandbox/interpreter/ptx/lowering/kernel.h"

namespace bicrl::ptx {

class Grid;
class WarpGroup;
class ThreadBlock;
struct Region;

// One element, or a few in a row, for each of some lanes of a warp group, all within one region.
struct LaneAccess {
  enum class Kind : uint8_t { kRead, kWrite, kAtomic };
  Kind kind = Kind::kRead;
  LaneSet lanes;
  uint32_t bytes = 0;                 // of each lane, in a row
  uint64_t base = 0;                  // lane l's bytes begin at region.begin + base + offsets[l]
  const uint32_t* offsets = nullptr;  // [lanes of the warp group]
  // Of each AddressPlan::kGroup neighbours, the distance from one lane's offset to the next, if it is always
  // the same (or AddressPlan::kMixed); null: not known.
  const int32_t* steps = nullptr;
  // Of a store: element e of lane l is the first `element_bytes` bytes at values[e] + l * value_stride.
  uint32_t element_bytes = 0, value_stride = 0;
  std::array<const std::byte*, kMaxOperands> values{};
};

// Every function does nothing unless it is overridden. Called by the thread that runs the grid. All of it is
// the same from run to run of one launch with one seed.
class Observer {
 public:
  virtual ~Observer() = default;

  virtual void launch_begins(Grid&) {}
  virtual void launch_ends(Grid&) {}  // without a fault
  virtual void block_begins(ThreadBlock&) {}
  virtual void block_ends(ThreadBlock&) {}
  // The active lanes run that basic block of the kernel, from its first operation on.
  virtual void basic_block(WarpGroup&, uint32_t /*block*/) {}

  // Before memory changes, and after that; registers that a load writes are written in between, but of
  // operations on matrices and asynchronous copies, which show both at once. Not for the kernel's parameters;
  // for local memory as well (region.local).
  virtual void will_access(WarpGroup&, const Operation&, const Region&, const LaneAccess&) {}
  virtual void did_access(WarpGroup&, const Operation&, const Region&, const LaneAccess&) {}

  // The active lanes; op.order says which fence.
  virtual void fence(WarpGroup&, const Operation&) {}
  // Lanes come to a barrier of their block, which they wait at or not; and it is complete, so that those go
  // on who have waited.
  virtual void barrier_arrival(WarpGroup&, uint32_t /*barrier*/, const LaneSet&, bool /*waits*/) {}
  virtual void barrier_completed(ThreadBlock&, uint32_t /*barrier*/) {}
  // Lanes of one warp have met at bar.warp.sync.
  virtual void warp_barrier(WarpGroup&, int /*warp*/, uint32_t /*lanes*/) {}

  // An asynchronous copy of a thread into shared memory has been begun (its destination may change from now
  // on), and has landed. `place`: of its destination in the block's shared memory.
  virtual void copy_begun(WarpGroup&, const Operation&, int /*lane*/, uint64_t /*place*/,
                          uint32_t /*bytes*/) {}
  virtual void copy_landed(ThreadBlock&, int /*thread*/, uint64_t /*place*/, uint32_t /*bytes*/) {}
  // A thread makes a barrier in shared memory.
  virtual void phases_begin(WarpGroup&, const Operation&, int /*lane*/, uint64_t /*place*/) {}
  // A thread arrives at a barrier in shared memory, and one has found that a phase of it has ended.
  virtual void phase_arrival(ThreadBlock&, int /*thread*/, uint64_t /*place*/) {}
  virtual void phase_ended(ThreadBlock&, int /*thread*/, uint64_t /*place*/) {}
};

}  // namespace bicrl::ptx

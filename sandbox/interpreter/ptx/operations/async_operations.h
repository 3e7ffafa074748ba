// Asynchronous copies (cp.async) and the barriers in shared memory that they and threads arrive at
// (mbarrier). Handlers of Operation; what a copy does when is in async_copies.h.
//
// A barrier's 64 bits are our own: the phase, how many arrivals it still waits for, how many it expects in
// the next phase, and the bytes of transactions that are under way. To use what is no barrier is a fault, and
// so is what the manual forbids: more arrivals than are pending, a count out of range.
#pragma once
#include "sandbox/interpreter/ptx/execution/warp_group.h"

namespace bicrl::ptx {

// Address: the destination. Sources: the address of the source; a constant that is added to it; how many
// bytes are read (or none); a predicate by which nothing is read (or none). count: bytes of the copy.
void copy_async(WarpGroup& warp_group, const Operation& op);
void commit_copies(WarpGroup& warp_group, const Operation& op);
// offset: groups that need not have landed; -1: all copies land, those without a group as well.
void wait_for_copies(WarpGroup& warp_group, const Operation& op);
// Address: the barrier. detail: 1 if the arrival is one of those that the barrier expects (.noinc).
void arrive_after_copies(WarpGroup& warp_group, const Operation& op);

enum class BarrierAction : uint16_t {
  kInit,  // source 0: arrivals of a phase
  kInvalidate,
  kExpectBytes,       // source 0: bytes of transactions that begin
  kCompleteBytes,     // source 0: of those that end
  kArrive,            // source 0: arrivals, or none for 1
  kArriveIncomplete,  // the same, which must not end the phase
  kArriveExpecting,   // source 0: bytes; one arrival
  kDrop,              // as kArrive, and so many fewer are expected from the next phase on
  kDropIncomplete,
  kDropExpecting
};
// Address: the barrier. detail: BarrierAction. Destination 0 of an arrival: the state before it, or none.
void change_barrier(WarpGroup& warp_group, const Operation& op);

// Address: the barrier. Source 0: the state that an arrival gave (detail 0), or the parity of a phase (1).
// Destination 0: whether that phase has ended.
void test_barrier(WarpGroup& warp_group, const Operation& op);
// Source 0: the state. Destination 0: the arrivals that were pending.
void pending_arrivals(WarpGroup& warp_group, const Operation& op);

}  // namespace bicrl::ptx

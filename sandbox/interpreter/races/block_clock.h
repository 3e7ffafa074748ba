// Logical clock of a block, which says which accesses its threads know of each other: happens-before, with
// numbers that are cheap in the common case. One counter of the block goes up at every event of
// synchronisation; an access is stamped with it. After a barrier of the whole block all threads know every
// access so far: those with stamps up to `floor`. After bar.warp.sync of a whole warp its lanes know those of
// the warp up to the warp's floor; where a mask names some lanes only, a row of stamps for each lane says
// what it knows of the others. Knowledge that comes through locations in memory and through counted barriers
// is in SyncLogs. Not thread-safe.
//
// The writer's side is strict: a strong write releases what its thread knew at its last fence of that scope
// (or knows now, if the operation itself releases), and nothing without a fence. But two ways of writing that
// hardware orders and that published programs use are accepted: the threads of a block fence what they wrote,
// meet at a barrier, and one of them does the strong write; and the same for a warp. The reader's side is
// lenient: any strong read acquires, without a fence behind it, as the last-block reduction of NVIDIA's
// samples has none.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sandbox/interpreter/ptx/alu/lanes.h"
#include "sandbox/interpreter/ptx/lowering/kernel.h"
#include "sandbox/interpreter/races/sync_log.h"

namespace bicrl::races {

constexpr int kMaxThreads = 1024;
constexpr int kBlockWarps = kMaxThreads / ptx::kWarpLanes;

class BlockClock {
 public:
  // Of another block from its start on. `serial`: greater than that of every block before it.
  void begin(uint32_t serial);

  uint32_t serial() const { return serial_; }
  uint32_t now() const { return now_; }  // the stamp of an access
  uint32_t floor() const { return floor_; }

  // Whether thread `reader` of this block knows the access of `thread` of block `serial`.
  bool knows(const SyncLogs& logs, int reader, uint32_t serial, int thread, uint32_t stamp) const;

  void block_barrier();
  void warp_barrier(int warp, uint32_t lanes, uint32_t lanes_of_warp);
  // Threads `first` + lane; `device`: at least of that scope.
  void fence(int first, const ptx::LaneSet& lanes, bool device);
  // They have written memory that other blocks can see.
  void note_global_writes(int first, const ptx::LaneSet& lanes);

  // What a strong write of a thread with that order releases: nothing, or one or two.
  std::vector<Knowledge> released(int thread, const ptx::MemoryOrder& order);
  // What lanes of a warp know now. After that, time goes on.
  Knowledge current(int warp, uint32_t lanes) const;
  void tick() { ++now_; }
  void acquire(int thread, LogId log, uint32_t version);
  uint32_t acquired_version(int thread, LogId log) const;  // 0: none

 private:
  using Rows = std::array<std::array<uint32_t, ptx::kWarpLanes>, ptx::kWarpLanes>;  // [lane][of lane]
  struct Fence {
    uint32_t floor = 0;
    std::array<uint32_t, ptx::kWarpLanes> lanes{};  // zeros: there was none
    Acquired acquired;
  };
  struct ThreadFences {
    Fence block, device;
    bool has_block = false, has_device = false;
  };
  Acquired acquired_by(int thread) const;
  Knowledge with_fence(int thread, const Fence& fence, bool device) const;
  bool all_fenced() const;

  uint32_t serial_ = 0, now_ = 1, floor_ = 0;
  std::array<uint32_t, kBlockWarps> warp_floors_{};
  std::array<std::unique_ptr<Rows>, kBlockWarps> rows_;
  Acquired common_;                               // by all threads
  std::vector<Acquired> own_;                     // by thread; empty: nobody has anything of his own
  std::vector<ThreadFences> fences_;              // by thread; empty: there was none
  std::array<uint32_t, kBlockWarps> unfenced_{};  // lanes that have written since their last fence
  bool any_fence_ = false;
  uint32_t fenced_floor_ =
      0;  // accesses up to it have been fenced, by whoever did them, and are known to all
  std::array<uint32_t, kBlockWarps> fenced_warp_floors_{};
};

}  // namespace bicrl::races

// A block of threads: its warp groups, its shared memory and its barriers. Not thread-safe; owned by its
// grid, which runs one block at a time and uses the object again for other blocks.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/warp_group.h"
#include "sandbox/interpreter/ptx/operations/async_copies.h"

namespace bicrl::ptx {

constexpr int kBarriers = 16;
constexpr int kMaxWarpGroups = 8;  // of 1024 threads, if each 256 are cut in two

class ThreadBlock {
 public:
  ThreadBlock(Grid& grid, Dim3 index);
  // Another block in the same memory.
  void begin(Dim3 index);

  // Lets every warp group go as far as it can. kWaiting: a barrier was completed, so there is more to do at
  // once. Throws FaultError.
  Pause run(uint64_t budget);

  Grid& grid() { return grid_; }
  const Dim3& index() const { return index_; }
  const std::vector<std::unique_ptr<WarpGroup>>& warp_groups() const { return warp_groups_; }
  Dim3 thread_index(int thread) const;

  // ---- For handlers ----
  std::byte* shared() { return shared_.data(); }
  size_t shared_bytes() const { return shared_.size(); }
  uint8_t* shared_shadows() { return shared_shadows_.empty() ? nullptr : shared_shadows_.data(); }
  AsyncCopies& copies() { return copies_; }
  // To the observer, if there is one: copies that have landed, and arrivals that they made.
  void show_landed();
  // The variable of shared memory that holds the byte; null if none does.
  const SharedWindow* shared_window(uint64_t offset) const;

  // Lanes of a warp group come to a barrier, to wait there or not. `expected`: threads that it waits for; 0:
  // all that have not exited.
  void arrive(uint32_t barrier, WarpGroup& warp_group, const LaneSet& lanes, uint32_t expected, bool waits);
  // If all have come that it waits for, those who wait go on, and whoever comes from now on waits for others.
  void complete_barrier(uint32_t barrier);
  // Of the barrier that was completed last: what bar.red found.
  struct Votes {
    uint32_t count = 0;
    bool all = true, any = false;
    bool undefined = false;  // what somebody voted was never written
  };
  void vote(uint32_t barrier, uint32_t yes, uint32_t of, bool undefined);
  // For Grid::disturb(): how often the block did, and those that do not run.
  uint64_t disturb() { return disturbed_++; }
  void run_others(uint64_t budget);
  const Votes& votes(uint32_t barrier) const { return barriers_[barrier].result; }

 private:
  void make_warp_groups(uint64_t key);
  struct Barrier {
    bool used = false;
    bool everybody = false;
    uint32_t expected = 0;  // threads, unless everybody
    std::array<LaneSet, kMaxWarpGroups> arrived{};
    Votes collecting, result;
  };
  bool is_complete(const Barrier& barrier) const;
  void complete_barriers();

  Grid& grid_;
  Dim3 index_{};
  std::vector<std::unique_ptr<WarpGroup>> warp_groups_;
  std::vector<SharedWindow> windows_;
  std::vector<std::byte> shared_;
  std::vector<uint8_t> shared_shadows_;
  AsyncCopies copies_;
  std::array<Barrier, kBarriers> barriers_{};
  size_t next_warp_group_ = 0;
  uint64_t completed_ = 0;  // barriers
  uint64_t key_ = 0;        // of what the block decides by the seed
  uint64_t turns_ = 0;
  uint64_t disturbed_ = 0;
};

}  // namespace bicrl::ptx

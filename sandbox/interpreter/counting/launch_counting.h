// Counts what launches do, as the observer of their grids: one object for all launches of a run, one after
// the other, so that it knows what an earlier one has touched. Not thread-safe.
//
// The counters are the same on every machine and for all seeds of addresses. The order of blocks could show
// where blocks wait for each other, and in who touches a sector first: a run that is to be compared with
// others has the order of seed 0.
//
// Of single blocks in memory that is made when touched, who touched a sector before says nothing: without a
// footprint neither distinct sectors nor caches are counted, and no memory is needed for each sector.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "sandbox/cost/launch_counters.h"
#include "sandbox/interpreter/counting/kernel_profile.h"
#include "sandbox/interpreter/counting/sector_footprint.h"
#include "sandbox/interpreter/ptx/execution/observer.h"

namespace bicrl {

struct WarpSectors;

class LaunchCounting : public ptx::Observer {
 public:
  enum class Footprint { kFollowed, kIgnored };
  explicit LaunchCounting(Footprint footprint = Footprint::kFollowed);
  ~LaunchCounting() override;

  // Of the launches that have ended, in order.
  const std::vector<LaunchCounters>& launches() const { return launches_; }
  // What the host part does besides: `bytes` of a buffer are written, or copied from one to another.
  void fill(uint64_t buffer, uint64_t offset, uint64_t bytes);
  void copy(uint64_t target, uint64_t target_offset, uint64_t target_bytes, uint64_t source,
            uint64_t source_offset, uint64_t source_bytes);
  // Bytes come from the host.
  void upload(uint64_t bytes);

  void launch_begins(ptx::Grid& grid) override;
  void launch_ends(ptx::Grid& grid) override;
  void block_begins(ptx::ThreadBlock& block) override;
  void block_ends(ptx::ThreadBlock& block) override;
  void basic_block(ptx::WarpGroup& warp_group, uint32_t number) override;
  void will_access(ptx::WarpGroup& warp_group, const ptx::Operation& op, const ptx::Region& region,
                   const ptx::LaneAccess& access) override;
  void copy_begun(ptx::WarpGroup& warp_group, const ptx::Operation& op, int lane, uint64_t place,
                  uint32_t bytes) override;

 private:
  struct BlockState;
  // Of one basic block, over all warps that ran it.
  struct BlockRuns {
    uint64_t warps = 0, lanes = 0, diverged = 0;
  };
  struct OperationTraffic {
    uint64_t sectors = 0, wavefronts = 0;
  };
  BlockState& state(const ptx::ThreadBlock& block);
  void access_global(ptx::WarpGroup& warp_group, const ptx::Region& region, const ptx::LaneAccess& access,
                     int warp, bool waits, OperationTraffic& traffic);
  void count_request(ptx::LaneAccess::Kind kind, size_t sectors);
  void access_shared(const ptx::Region& region, const ptx::LaneAccess& access, int warp,
                     OperationTraffic& traffic);
  void update_words(SectorFootprint::Buffer& buffer, const ptx::LaneAccess& access, int warp);
  void add_profile();
  void add_lines();

  const bool follows_footprint_;
  std::vector<LaunchCounters> launches_;
  SectorFootprint footprint_;
  // ---- Of the launch that runs ----
  LaunchCounters counters_;
  const ptx::Kernel* kernel_ = nullptr;
  const KernelProfile* profile_ = nullptr;
  std::unordered_map<const ptx::Kernel*, KernelProfile> profiles_;
  std::vector<BlockRuns> runs_;            // by basic block
  std::vector<OperationTraffic> traffic_;  // by operation
  std::unordered_map<const ptx::ThreadBlock*, std::unique_ptr<BlockState>> blocks_;
  const ptx::ThreadBlock* last_block_ = nullptr;
  BlockState* last_state_ = nullptr;  // of last_block_
  uint64_t copied_to_shared_bytes_ = 0;
};

}  // namespace bicrl

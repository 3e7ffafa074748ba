#include "sandbox/interpreter/ptx/operations/async_operations.h"

#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/observed_access.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"
#include "sandbox/interpreter/ptx/operations/lane_values.h"

namespace bicrl::ptx {
namespace {

void require_room(WarpGroup& warp_group, int lane) {
  if (warp_group.block().copies().is_full())
    warp_group.fail(FaultClass::kMemory,
                    concat("more than ", AsyncCopies::kMax, " asynchronous copies of a block at a time"),
                    lane);
}

// The region of an access; that of the lane before, if it serves.
const Region& near_region(WarpGroup& warp_group, Space space, uint64_t address, const Access& access,
                          int lane, Region& region) {
  if (!region.data || address < region.begin || region.end - region.begin < access.bytes ||
      address > region.end - access.bytes)
    region = find_region(warp_group, space, address, access, lane);
  return region;
}

// What a lane does here takes as long as that many operations on registers.
constexpr uint64_t kAsyncWork = 32;

}  // namespace

void copy_async(WarpGroup& warp_group, const Operation& op) {
  warp_group.grid().count_work(kAsyncWork, static_cast<uint64_t>(warp_group.active().count()));
  Region shared, global;
  CollectedAccesses sources(warp_group, op, LaneAccess::Kind::kRead, op.count);
  warp_group.active().for_each([&](int lane) {
    AsyncCopies::Copy copy;
    copy.bytes = copy.read_bytes = op.count;
    if (op.sources[2]) {
      const auto wanted = defined_value<uint32_t>(warp_group, op.sources[2], lane, "the size of a copy");
      if (wanted > op.count)
        warp_group.fail(FaultClass::kIllegalAccess, "a copy that reads more than it has room for", lane);
      copy.read_bytes = static_cast<uint8_t>(wanted);
    }
    if (op.sources[3]) {
      const bool set = defined_value<uint32_t>(warp_group, op.sources[3], lane, "a condition") != 0;
      if (set != op.negated_source) copy.read_bytes = 0;
    }
    const uint64_t to = lane_address(warp_group, op.address, op.offset, lane);
    require_aligned(warp_group, to, op.count, lane);
    near_region(warp_group, op.space, to, {.bytes = op.count, .writes = true}, lane, shared);
    if (shared.space != Space::kShared)
      warp_group.fail(FaultClass::kIllegalAccess, "an asynchronous copy to what is not shared memory", lane);
    copy.to = shared.data + (to - shared.begin);
    if (shared.undefined) copy.to_undefined = shared.undefined + (to - shared.begin);
    if (copy.read_bytes > 0) {
      const int64_t offset = warp_group.values<int64_t>(op.sources[1])[lane];
      const uint64_t from = lane_address(warp_group, op.sources[0], offset, lane);
      require_aligned(warp_group, from, op.count, lane);
      near_region(warp_group, Space::kGlobal, from, {.bytes = copy.read_bytes, .writes = false}, lane,
                  global);
      copy.from = global.data + (from - global.begin);
      if (global.undefined) copy.from_undefined = global.undefined + (from - global.begin);
      if (sources && copy.read_bytes == op.count) sources.add(global, lane, from - global.begin);
    }
    require_room(warp_group, lane);
    copy.place = static_cast<uint64_t>(copy.to - warp_group.block().shared());
    if (sources) warp_group.grid().observer()->copy_begun(warp_group, op, lane, copy.place, copy.bytes);
    warp_group.block().copies().begin(warp_group.first_thread() + lane, copy);
  });
  if (sources) sources.flush();
}

void commit_copies(WarpGroup& warp_group, const Operation&) {
  warp_group.active().for_each([&](int lane) {
    require_room(warp_group, lane);
    warp_group.block().copies().commit(warp_group.first_thread() + lane);
  });
}

void wait_for_copies(WarpGroup& warp_group, const Operation& op) {
  warp_group.active().for_each([&](int lane) {
    const int thread = warp_group.first_thread() + lane;
    if (op.offset < 0)
      warp_group.block().copies().wait_for_all(thread);
    else
      warp_group.block().copies().wait_for_groups(thread, static_cast<uint64_t>(op.offset));
  });
  warp_group.block().show_landed();
}

}  // namespace bicrl::ptx

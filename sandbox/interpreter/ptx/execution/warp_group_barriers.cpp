// Lanes that wait for others, at warp collectives and at barriers.
#include "sandbox/interpreter/ptx/execution/warp_group.h"

#include <bit>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"

namespace bicrl::ptx {
namespace {

// Operations that one of a warp costs, besides itself: it looks at each lane's mask and partner.
constexpr uint64_t kWarpWork = 8;

}  // namespace

void WarpGroup::arrive(uint32_t number, const Operation& op) {
  current_ = &op;
  LaneSet lanes = guarded_lanes(op);
  const LaneSet others = active_ - lanes;
  if (op.collective == Collective::kBlock) {
    if (!lanes.empty()) {
      set_active(lanes);
      barrier_block_ = number;
      op.handler(*this, op);  // which counts them, per barrier, and says at which of them they wait
      if (op.detail != 0) add_subset(number + 1, lanes);
    }
    add_subset(number + 1, others);
    return;
  }
  // Those that wait here already come along.
  for (size_t i = 0; i < waiting_.size(); ++i)
    if (waiting_[i].barrier < 0 && waiting_[i].block == number) {
      lanes |= waiting_[i].lanes;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i--));
    }
  add_subset(number + 1, others);
  if (lanes.empty()) return;
  run_collective(op, lanes, number + 1);
}

// Runs a warp collective for those of `lanes` whose whole mask has arrived, and lets the others wait.
void WarpGroup::run_collective(const Operation& op, const LaneSet& lanes, uint32_t next_block) {
  set_active(lanes);
  const LaneSet ready = ready_at(op, lanes);
  const LaneSet rest = lanes - ready;
  if (!rest.empty()) waiting_.push_back({next_block - 1, -1, rest});
  if (ready.empty()) return;
  set_active(ready);
  grid_.count_work(kWarpWork, static_cast<uint64_t>(ready.count()));
  op.handler(*this, op);
  add_subset(next_block, ready);
}

LaneSet WarpGroup::ready_at(const Operation& op, const LaneSet& lanes) {
  if (!op.sources[0]) return lanes;  // no mask: whoever is here
  require_defined(op.sources[0], "the mask of a warp operation");
  const uint32_t* masks = values<uint32_t>(op.sources[0]);
  LaneSet ready;
  for (size_t warp = 0; warp < kMaxWarps; ++warp) {
    const uint32_t here = lanes.warps[warp];
    const uint32_t gone = exited_.warps[warp];
    for (uint32_t left = here; left != 0;) {
      const int first = std::countr_zero(left);
      const uint32_t mask = masks[warp * kWarpLanes + static_cast<size_t>(first)];
      uint32_t alike = 0;
      for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        if (masks[warp * kWarpLanes + static_cast<size_t>(lane)] == mask) alike |= uint32_t{1} << lane;
      }
      if (const uint32_t outside = alike & ~mask; outside != 0)
        fail(FaultClass::kBarrier, "a lane is not in the mask of its own warp operation",
             static_cast<int>(warp) * kWarpLanes + std::countr_zero(outside));
      if ((mask & ~gone & ~alike) == 0) ready.warps[warp] |= alike;
      left &= ~alike;
    }
  }
  return ready;
}

// Lanes may have exited since; true if somebody can go on.
bool WarpGroup::complete_warp_collectives() {
  const std::vector<Waiting> before = std::move(waiting_);
  waiting_.clear();
  for (const Waiting& waiting : before) {
    if (waiting.barrier >= 0) {
      waiting_.push_back(waiting);
      continue;
    }
    const Operation& op = kernel_.operations[kernel_.blocks[waiting.block].first];
    current_ = &op;
    run_collective(op, waiting.lanes, waiting.block + 1);
  }
  return !subsets_.empty();
}

void WarpGroup::wait_at_barrier(uint32_t barrier, const LaneSet& lanes) {
  waiting_.push_back({barrier_block_, static_cast<int32_t>(barrier), lanes});
}

// bar.sync is aligned: what half a warp does at one and the other half at another is undefined, though
// devices of today count their lanes together.
void WarpGroup::require_together(uint32_t barrier) {
  for (size_t i = 0; i < waiting_.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Waiting &one = waiting_[i], &other = waiting_[j];
      if (one.barrier != static_cast<int32_t>(barrier) || other.barrier != one.barrier ||
          one.block == other.block)
        continue;
      const Operation& op = kernel_.operations[kernel_.blocks[one.block].first];
      for (size_t warp = 0; warp < kMaxWarps; ++warp)
        if (op.aligned && one.lanes.warps[warp] != 0 && other.lanes.warps[warp] != 0) {
          current_ = &op;
          fail(FaultClass::kBarrier, "lanes of one warp wait at different __syncthreads()",
               static_cast<int>(warp) * kWarpLanes + std::countr_zero(one.lanes.warps[warp]));
        }
    }
}

void WarpGroup::release(uint32_t barrier) {
  for (size_t i = 0; i < waiting_.size();) {
    if (waiting_[i].barrier != static_cast<int32_t>(barrier)) {
      ++i;
      continue;
    }
    const Waiting waiting = waiting_[i];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    const Operation& op = kernel_.operations[kernel_.blocks[waiting.block].first];
    if (op.destinations[0]) {  // what the barrier found
      set_active(waiting.lanes);
      give_votes(op);
    }
    add_subset(waiting.block + 1, waiting.lanes);
  }
}

const Operation* WarpGroup::waiting_at() const {
  if (waiting_.empty()) return nullptr;
  return &kernel_.operations[kernel_.blocks[waiting_.front().block].first];
}

}  // namespace bicrl::ptx

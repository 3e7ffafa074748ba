#include "sandbox/interpreter/races/block_clock.h"

#include <algorithm>
#include <bit>

namespace bicrl::races {

using ptx::kWarpLanes;
using ptx::LaneSet;
using Scope = ptx::MemoryOrder::Scope;

namespace {

size_t warp_of(int thread) { return static_cast<size_t>(thread / kWarpLanes); }
size_t lane_of(int thread) { return static_cast<size_t>(thread % kWarpLanes); }

template <class Work>
void for_each_bit(uint32_t bits, const Work& work) {
  for (; bits != 0; bits &= bits - 1) work(static_cast<size_t>(std::countr_zero(bits)));
}

}  // namespace

void BlockClock::begin(uint32_t serial) { *this = {}, serial_ = serial; }

bool BlockClock::knows(const SyncLogs& logs, int reader, uint32_t serial, int thread, uint32_t stamp) const {
  if (serial == serial_) {
    if (stamp <= floor_ || thread == reader) return true;
    const size_t warp = warp_of(thread);
    if (warp == warp_of(reader)) {
      if (stamp <= warp_floors_[warp]) return true;
      if (rows_[warp] && stamp <= (*rows_[warp])[lane_of(reader)][lane_of(thread)]) return true;
    }
  }
  if (!common_.empty() && logs.know(common_, serial_, serial, thread, stamp)) return true;
  return !own_.empty() && !own_[static_cast<size_t>(reader)].empty() &&
         logs.know(own_[static_cast<size_t>(reader)], serial_, serial, thread, stamp);
}

bool BlockClock::all_fenced() const {
  return std::all_of(unfenced_.begin(), unfenced_.end(), [](uint32_t lanes) { return lanes == 0; });
}

void BlockClock::block_barrier() {
  floor_ = now_++;
  if (any_fence_ && all_fenced()) fenced_floor_ = floor_;
  for (const Acquired& own : own_) join(common_, own);
  own_.clear();
}

void BlockClock::warp_barrier(int number, uint32_t lanes, uint32_t lanes_of_warp) {
  const auto warp = static_cast<size_t>(number);
  if ((lanes_of_warp & ~lanes) == 0) {
    warp_floors_[warp] = now_++;
    if (any_fence_ && unfenced_[warp] == 0) fenced_warp_floors_[warp] = warp_floors_[warp];
  } else {
    if (!rows_[warp]) rows_[warp] = std::make_unique<Rows>();
    std::array<uint32_t, kWarpLanes> joined{};
    for_each_bit(lanes, [&](size_t lane) {
      for (size_t i = 0; i < joined.size(); ++i) joined[i] = std::max(joined[i], (*rows_[warp])[lane][i]);
    });
    for_each_bit(lanes, [&](size_t lane) { joined[lane] = now_; });
    for_each_bit(lanes, [&](size_t lane) { (*rows_[warp])[lane] = joined; });
    ++now_;
  }
  if (own_.empty()) return;
  Acquired joined;
  for_each_bit(lanes, [&](size_t lane) { join(joined, own_[warp * kWarpLanes + lane]); });
  for_each_bit(lanes, [&](size_t lane) { own_[warp * kWarpLanes + lane] = joined; });
}

void BlockClock::note_global_writes(int first, const LaneSet& lanes) {
  for (size_t warp = 0; warp < lanes.warps.size(); ++warp)
    if (lanes.warps[warp] != 0) unfenced_[warp_of(first) + warp] |= lanes.warps[warp];
}

Acquired BlockClock::acquired_by(int thread) const {
  Acquired all = common_;
  if (!own_.empty()) join(all, own_[static_cast<size_t>(thread)]);
  return all;
}

Knowledge BlockClock::current(int number, uint32_t lanes) const {
  const auto warp = static_cast<size_t>(number);
  Knowledge knowledge{serial_, false, floor_, number, {}, {}};
  knowledge.lanes.fill(warp_floors_[warp]);
  for_each_bit(lanes, [&](size_t lane) {
    if (rows_[warp])
      for (size_t i = 0; i < knowledge.lanes.size(); ++i)
        knowledge.lanes[i] = std::max(knowledge.lanes[i], (*rows_[warp])[lane][i]);
    if (!own_.empty()) join(knowledge.acquired, own_[warp * kWarpLanes + lane]);
  });
  for_each_bit(lanes, [&](size_t lane) { knowledge.lanes[lane] = now_; });
  join(knowledge.acquired, common_);
  return knowledge;
}

void BlockClock::fence(int first, const LaneSet& lanes, bool device) {
  if (fences_.empty()) fences_.resize(kMaxThreads);
  lanes.for_each([&](int lane) {
    const int thread = first + lane;
    const Knowledge known = current(thread / kWarpLanes, uint32_t{1} << lane_of(thread));
    ThreadFences& fences = fences_[static_cast<size_t>(thread)];
    fences.block = {known.floor, known.lanes, known.acquired};
    fences.has_block = true;
    if (!device) return;
    fences.device = fences.block;
    fences.has_device = true;
    unfenced_[warp_of(thread)] &= ~(uint32_t{1} << lane_of(thread));
  });
  any_fence_ |= device;
  ++now_;
}

Knowledge BlockClock::with_fence(int thread, const Fence& fence, bool device) const {
  Knowledge knowledge{serial_, device, fence.floor, thread / kWarpLanes, fence.lanes, fence.acquired};
  return knowledge;
}

std::vector<Knowledge> BlockClock::released(int thread, const ptx::MemoryOrder& order) {
  std::vector<Knowledge> all;
  const bool to_device = order.scope == Scope::kDevice;
  if (order.releases) {
    all.push_back(current(thread / kWarpLanes, uint32_t{1} << lane_of(thread)));
    all.back().device = to_device;
    ++now_;
    return all;
  }
  const uint32_t fenced_lanes = fenced_warp_floors_[warp_of(thread)];
  if (fences_.empty() ||
      (!fences_[static_cast<size_t>(thread)].has_block && fenced_floor_ == 0 && fenced_lanes == 0))
    return all;
  const ThreadFences& fences = fences_[static_cast<size_t>(thread)];
  if (fences.has_block) all.push_back(with_fence(thread, fences.block, false));
  if (!to_device || (!fences.has_device && fenced_floor_ == 0 && fenced_lanes == 0)) return all;
  Knowledge device = with_fence(thread, fences.device, true);
  device.floor = std::max(device.floor, fenced_floor_);
  for (uint32_t& stamp : device.lanes) stamp = std::max(stamp, fenced_lanes);
  if (fenced_floor_ > 0) join(device.acquired, common_);
  all.push_back(std::move(device));
  return all;
}

void BlockClock::acquire(int thread, LogId log, uint32_t version) {
  if (version == 0) return;
  if (own_.empty()) own_.resize(kMaxThreads);
  uint32_t& mine = own_[static_cast<size_t>(thread)][log];
  mine = std::max(mine, version);
}

uint32_t BlockClock::acquired_version(int thread, LogId log) const {
  uint32_t version = 0;
  const auto look = [&](const Acquired& acquired) {
    if (const auto found = acquired.find(log); found != acquired.end())
      version = std::max(version, found->second);
  };
  look(common_);
  if (!own_.empty()) look(own_[static_cast<size_t>(thread)]);
  return version;
}

}  // namespace bicrl::races

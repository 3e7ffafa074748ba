#include "sandbox/interpreter/ptx/operations/collective_operations.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sandbox/interpreter/ptx/execution/observer.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"
#include "sandbox/interpreter/ptx/operations/lane_values.h"

namespace bicrl::ptx {
namespace {

// Lanes of a warp that take part together: equal masks.
struct Group {
  int first_lane = 0;  // of the warp
  uint32_t lanes = 0;
};

// Calls work(group) for the groups of lanes that are active. Source 0 is the mask.
template <class Work>
void for_each_group(WarpGroup& warp_group, const Operation& op, const Work& work) {
  const uint32_t* masks = op.sources[0] ? warp_group.values<uint32_t>(op.sources[0]) : nullptr;
  for (int warp = 0; warp * kWarpLanes < warp_group.lanes(); ++warp) {
    const int first = warp * kWarpLanes;
    for (uint32_t left = warp_group.active().warps[static_cast<size_t>(warp)]; left != 0;) {
      uint32_t alike = left;
      if (masks) {
        const uint32_t mask = masks[first + std::countr_zero(left)];
        for (uint32_t rest = left; rest != 0; rest &= rest - 1)
          if (masks[first + std::countr_zero(rest)] != mask) alike &= ~(rest & -rest);
      }
      work(Group{first, alike});
      left &= ~alike;
    }
  }
}

template <class Work>
void for_each_lane(const Group& group, const Work& work) {
  for (uint32_t left = group.lanes; left != 0; left &= left - 1)
    work(group.first_lane + std::countr_zero(left));
}

bool any_undefined(WarpGroup& warp_group, Place place, const Group& group) {
  bool any = false;
  if (warp_group.has_shadows())
    for_each_lane(group, [&](int lane) { any |= is_undefined(warp_group, place, lane); });
  return any;
}

template <class T>
void match_values(WarpGroup& warp_group, const Operation& op, const Group& group) {
  const T* values = warp_group.values<T>(op.sources[1]);
  const bool undefined = any_undefined(warp_group, op.sources[1], group);
  // Found for all lanes before the first is written: a result may take the place of the values.
  std::array<uint32_t, kWarpLanes> alike{};
  for_each_lane(group, [&](int lane) {
    for_each_lane(group, [&](int other) {
      if (values[other] == values[lane])
        alike[static_cast<size_t>(lane - group.first_lane)] |= uint32_t{1} << (other - group.first_lane);
    });
  });
  for_each_lane(group, [&](int lane) {
    const uint32_t found = alike[static_cast<size_t>(lane - group.first_lane)];
    const bool all = found == group.lanes;
    set_value(warp_group, op.destinations[0], lane, op.detail == 0 || all ? found : 0, undefined);
    set_predicate(warp_group, op.destinations[1], lane, all, undefined);
  });
}

template <class T>
uint32_t combined(WarpGroup& warp_group, const Operation& op, const Group& group) {
  const T* values = warp_group.values<T>(op.sources[1]);
  T result = values[group.first_lane + std::countr_zero(group.lanes)];
  bool first = true;
  for_each_lane(group, [&](int lane) {
    const T value = values[lane];
    if (first) {
      first = false;
      return;
    }
    switch (static_cast<Combine>(op.detail)) {
      case Combine::kAdd:
        result = static_cast<T>(static_cast<uint32_t>(result) + static_cast<uint32_t>(value));
        break;
      case Combine::kMin:
        result = std::min(result, value);
        break;
      case Combine::kMax:
        result = std::max(result, value);
        break;
      case Combine::kAnd:
        result &= value;
        break;
      case Combine::kOr:
        result |= value;
        break;
      default:
        result ^= value;
        break;
    }
  });
  return static_cast<uint32_t>(result);
}

// Some lanes, at one barrier.
void arrive(WarpGroup& warp_group, const Operation& op, uint32_t number, uint32_t count,
            const LaneSet& lanes) {
  const bool waits = op.detail != kArriveOnly;
  warp_group.block().arrive(number, warp_group, lanes, count, waits);
  if (op.sources[2]) {
    const uint32_t* predicates = warp_group.values<uint32_t>(op.sources[2]);
    uint32_t yes = 0, of = 0;
    bool undefined = false;
    lanes.for_each([&](int lane) {
      ++of, yes += (predicates[lane] != 0) != op.negated_source;
      undefined |= is_undefined(warp_group, op.sources[2], lane);
    });
    warp_group.block().vote(number, yes, of, undefined);
  }
  if (waits) warp_group.wait_at_barrier(number, lanes);
}

}  // namespace

void arrive_at_barrier(WarpGroup& warp_group, const Operation& op) {
  if (op.offset >= 0) {
    const auto number = static_cast<uint32_t>(op.offset);
    warp_group.block().arrive(number, warp_group, warp_group.active(), 0, true);
    return warp_group.wait_at_barrier(number, warp_group.active());
  }
  warp_group.require_defined(op.sources[0], "the number of a barrier");
  const uint32_t* numbers = warp_group.values<uint32_t>(op.sources[0]);
  const uint32_t* counts = op.sources[1] ? warp_group.values<uint32_t>(op.sources[1]) : nullptr;
  LaneSet left = warp_group.active();
  while (!left.empty()) {
    const int first = left.first();
    const uint32_t number = numbers[first], count = counts ? counts[first] : 0;
    LaneSet lanes;
    left.for_each([&](int lane) {
      if (numbers[lane] == number && (!counts || counts[lane] == count)) lanes.add(lane);
    });
    left -= lanes;
    if (number >= kBarriers)
      warp_group.fail(FaultClass::kBarrier, "a barrier beyond the 16 that a block has", first);
    if (!counts) {
      arrive(warp_group, op, number, 0, lanes);
      continue;
    }
    if (count == 0 || count % kWarpLanes != 0)
      warp_group.fail(FaultClass::kBarrier, "a barrier's number of threads must be a multiple of 32", first);
    // Warp by warp: with the last that it waits for the barrier is complete, and the next warp begins anew.
    for (size_t warp = 0; warp < kMaxWarps; ++warp) {
      LaneSet of_warp;
      of_warp.warps[warp] = lanes.warps[warp];
      if (of_warp.empty()) continue;
      arrive(warp_group, op, number, count, of_warp);
      warp_group.block().complete_barrier(number);
    }
  }
}

void shuffle(WarpGroup& warp_group, const Operation& op) {
  const uint32_t* values = warp_group.values<uint32_t>(op.sources[1]);
  const uint32_t* lane_operand = warp_group.values<uint32_t>(op.sources[2]);
  const uint32_t* clamp_operand = warp_group.values<uint32_t>(op.sources[3]);
  warp_group.require_defined(op.sources[2], "the lane of a shuffle");
  warp_group.require_defined(op.sources[3], "the clamp of a shuffle");
  uint32_t results[kMaxLanes], result_shadows[kMaxLanes];
  const uint32_t* shadows = warp_group.shadows<uint32_t>(op.sources[1]);
  const auto mode = static_cast<ShuffleMode>(op.detail);
  for_each_group(warp_group, op, [&](const Group& group) {
    for_each_lane(group, [&](int at) {
      const int lane = at - group.first_lane;
      const int b = static_cast<int>(lane_operand[at] & 31);
      const uint32_t c = clamp_operand[at];
      const int segment = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31);
      const int max_lane = (lane & segment) | (clamp & ~segment);
      const int min_lane = lane & segment;
      int from = 0;
      bool in_range = false;
      switch (mode) {
        case ShuffleMode::kUp:
          from = lane - b;
          in_range = from >= max_lane;
          break;
        case ShuffleMode::kDown:
          from = lane + b;
          in_range = from <= max_lane;
          break;
        case ShuffleMode::kButterfly:
          from = lane ^ b;
          in_range = from <= max_lane;
          break;
        case ShuffleMode::kIndex:
          from = min_lane | (b & ~segment);
          in_range = from <= max_lane;
          break;
      }
      if (!in_range) from = lane;
      const bool takes_part = group.lanes >> from & 1;
      constexpr uint32_t kPoison = kPoisonWord | uint32_t{kPoisonWord} << 16;
      results[at] = takes_part ? values[group.first_lane + from] : kPoison;
      if (shadows) result_shadows[at] = takes_part ? shadows[group.first_lane + from] : ~uint32_t{0};
      set_predicate(warp_group, op.destinations[1], at, in_range);
    });
  });
  if (!op.destinations[0]) return;
  uint32_t* to = warp_group.values<uint32_t>(op.destinations[0]);
  uint32_t* to_shadow = warp_group.shadows<uint32_t>(op.destinations[0]);
  warp_group.active().for_each([&](int lane) {
    to[lane] = results[lane];
    if (to_shadow) to_shadow[lane] = result_shadows[lane];
  });
}

void vote(WarpGroup& warp_group, const Operation& op) {
  const uint32_t* predicates = warp_group.values<uint32_t>(op.sources[1]);
  const auto mode = static_cast<VoteMode>(op.detail);
  for_each_group(warp_group, op, [&](const Group& group) {
    const bool undefined = any_undefined(warp_group, op.sources[1], group);
    uint32_t ballot = 0;
    for_each_lane(group, [&](int lane) {
      if ((predicates[lane] != 0) != op.negated_source) ballot |= uint32_t{1} << (lane - group.first_lane);
    });
    const bool all = ballot == group.lanes;
    const bool answer = mode == VoteMode::kAll   ? all
                        : mode == VoteMode::kAny ? ballot != 0
                                                 : all || ballot == 0;
    for_each_lane(group, [&](int lane) {
      if (mode == VoteMode::kBallot)
        set_value(warp_group, op.destinations[0], lane, ballot, undefined);
      else
        set_predicate(warp_group, op.destinations[0], lane, answer, undefined);
    });
  });
}

void match(WarpGroup& warp_group, const Operation& op) {
  for_each_group(warp_group, op, [&](const Group& group) {
    if (op.sources[1].bytes == 8)
      match_values<uint64_t>(warp_group, op, group);
    else
      match_values<uint32_t>(warp_group, op, group);
  });
}

void reduce_warp(WarpGroup& warp_group, const Operation& op) {
  for_each_group(warp_group, op, [&](const Group& group) {
    const bool undefined = any_undefined(warp_group, op.sources[1], group);
    const uint32_t result = op.type == Type::kS32 ? combined<int32_t>(warp_group, op, group)
                                                  : combined<uint32_t>(warp_group, op, group);
    for_each_lane(group,
                  [&](int lane) { set_value(warp_group, op.destinations[0], lane, result, undefined); });
  });
}

void active_mask(WarpGroup& warp_group, const Operation& op) {
  for_each_group(warp_group, op, [&](const Group& group) {
    for_each_lane(group, [&](int lane) { set_value(warp_group, op.destinations[0], lane, group.lanes); });
  });
}

void elect(WarpGroup& warp_group, const Operation& op) {
  for_each_group(warp_group, op, [&](const Group& group) {
    const int chosen = std::countr_zero(group.lanes);
    for_each_lane(group, [&](int lane) {
      set_value(warp_group, op.destinations[0], lane, static_cast<uint32_t>(chosen));
      set_predicate(warp_group, op.destinations[1], lane, lane - group.first_lane == chosen);
    });
  });
}

void sync_warp(WarpGroup& warp_group, const Operation& op) {
  Observer* observer = warp_group.grid().observer();
  if (!observer) return;
  for_each_group(warp_group, op, [&](const Group& group) {
    observer->warp_barrier(warp_group, group.first_lane / kWarpLanes, group.lanes);
  });
}

void WarpGroup::give_votes(const Operation& op) {
  const ThreadBlock::Votes votes = block_.votes(values<uint32_t>(op.sources[0])[active_.first()]);
  const auto combine = static_cast<Combine>(op.more);
  active_.for_each([&](int lane) {
    if (combine == Combine::kPopc)
      set_value(*this, op.destinations[0], lane, votes.count, votes.undefined);
    else
      set_predicate(*this, op.destinations[0], lane, combine == Combine::kAnd ? votes.all : votes.any,
                    votes.undefined);
  });
}

}  // namespace bicrl::ptx

// Shows accesses to the observer of the grid. For handlers.
#pragma once
#include <algorithm>
#include <optional>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/observer.h"

namespace bicrl::ptx {

// One access, from before memory changes until finish(). Costs a branch where nobody looks.
class ObservedAccess {
 public:
  ObservedAccess(WarpGroup& warp_group, const Operation& op, const Region& region)
      : observer_(warp_group.grid().observer()), warp_group_(warp_group), op_(op), region_(region) {
    if (region.space == Space::kParam) observer_ = nullptr;
    if (observer_) seen_.emplace();
  }
  explicit operator bool() const { return observer_ != nullptr; }

  // Of the next ones, only if somebody looks: lanes of a plan, all active ones.
  void set_plan(const AddressPlan& plan) {
    seen_->lanes = warp_group_.active();
    seen_->base = plan.least + static_cast<uint64_t>(op_.offset) - region_.begin;
    seen_->offsets = plan.offsets;
    seen_->steps = plan.steps;
  }
  // All active lanes access one place.
  void set_fixed(uint64_t offset) {
    static constexpr uint32_t kZeros[kMaxLanes] = {};
    static constexpr int32_t kNoSteps[kMaxLanes / AddressPlan::kGroup] = {};
    seen_->lanes = warp_group_.active();
    seen_->base = offset;
    seen_->offsets = kZeros;
    seen_->steps = kNoSteps;
  }
  // Lanes with offsets from the region's begin, which has fewer than 2^32 bytes.
  void set_offsets(const LaneSet& lanes, const uint64_t* offsets) {
    seen_->lanes = lanes;
    std::transform(offsets, offsets + warp_group_.lanes(), offsets_,
                   [](uint64_t offset) { return static_cast<uint32_t>(offset); });
    seen_->offsets = offsets_;
  }
  // Which elements a store writes, `Register` by `Register`.
  template <class Register>
  void set_values(uint32_t element_bytes) {
    seen_->element_bytes = element_bytes;
    seen_->value_stride = sizeof(Register);
    for (size_t i = 0; i < op_.count; ++i) seen_->values[i] = warp_group_.values<std::byte>(op_.sources[i]);
  }

  void begin(LaneAccess::Kind kind, uint32_t bytes) {
    seen_->kind = kind;
    seen_->bytes = bytes;
    observer_->will_access(warp_group_, op_, region_, *seen_);
  }
  void finish() {
    if (observer_) observer_->did_access(warp_group_, op_, region_, *seen_);
  }

 private:
  Observer* observer_;
  WarpGroup& warp_group_;
  const Operation& op_;
  const Region& region_;
  std::optional<LaneAccess> seen_;
  uint32_t offsets_[kMaxLanes];
};

// Accesses that a handler finds lane by lane: those that follow each other in one region are shown together,
// before memory changes if they are shown (by flush()) before it does.
class CollectedAccesses {
 public:
  CollectedAccesses(WarpGroup& warp_group, const Operation& op, LaneAccess::Kind kind, uint32_t bytes)
      : observer_(warp_group.grid().observer()),
        warp_group_(warp_group),
        op_(op),
        kind_(kind),
        bytes_(bytes) {}
  explicit operator bool() const { return observer_ != nullptr; }

  // Only if somebody looks. Offsets from the region's begin.
  void add(const Region& region, int lane, uint64_t offset) {
    if (seen_.lanes.contains(lane) || region.data != region_.data) flush();
    region_ = region;
    seen_.lanes.add(lane);
    offsets_[lane] = static_cast<uint32_t>(offset);
  }
  void flush() {
    if (seen_.lanes.empty()) return;
    seen_.kind = kind_;
    seen_.bytes = bytes_;
    seen_.offsets = offsets_;
    observer_->will_access(warp_group_, op_, region_, seen_);
    observer_->did_access(warp_group_, op_, region_, seen_);
    seen_.lanes = {};
  }

 private:
  Observer* observer_;
  WarpGroup& warp_group_;
  const Operation& op_;
  const LaneAccess::Kind kind_;
  const uint32_t bytes_;
  Region region_;
  LaneAccess seen_;
  uint32_t offsets_[kMaxLanes];
};

}  // namespace bicrl::ptx

#include "sandbox/interpreter/ptx/execution/warp_group.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/observer.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"
#include "sandbox/interpreter/ptx/execution/warp_group_masks.h"

namespace bicrl::ptx {
namespace {

constexpr uint32_t kStay = ~uint32_t{0};
// Reads of what others write that a subset may do before it steps back.
constexpr int kPatience = 256;

LaneSet first_lanes(int count) {
  LaneSet set;
  for (int warp = 0; warp * kWarpLanes < count; ++warp) {
    const int lanes = std::min(kWarpLanes, count - warp * kWarpLanes);
    set.warps[static_cast<size_t>(warp)] = lanes == kWarpLanes ? ~uint32_t{0} : (uint32_t{1} << lanes) - 1;
  }
  return set;
}

}  // namespace

WarpGroup::WarpGroup(ThreadBlock& block, int number, int first_thread, int threads)
    : block_(block),
      grid_(block.grid()),
      kernel_(grid_.kernel()),
      number_(number),
      first_thread_(first_thread),
      threads_(threads),
      lanes_((threads + kWarpLanes - 1) / kWarpLanes * kWarpLanes) {
  // The frame, arrays for results that are not wanted, and the same for shadows.
  constexpr size_t kScratchBytes = kMaxAluDestinations * 16;
  const auto lanes = static_cast<size_t>(lanes_);
  const size_t frame = kernel_.frame_bytes * lanes, scratch = kScratchBytes * lanes;
  const bool shadows = grid_.memory().has_shadows();
  memory_.resize((shadows ? 2 : 1) * (frame + scratch) + 64);
  frame_ = memory_.data() + (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64) % 64;
  scratch_ = frame_ + frame;
  if (shadows) {
    shadow_frame_ = scratch_ + scratch;
    shadow_scratch_ = shadow_frame_ + frame;
  }
  local_.resize((kernel_.local_bytes + 3) / 4 * lanes);
  if (shadows) local_shadow_.resize(local_.size());
  returns_.resize(lanes);
  saved_.resize(lanes);
  fill_constants();
  for (const SpecialPlace& special : kernel_.specials) fill_special(special, /*only_block=*/false);
}

void WarpGroup::begin() {
  subsets_.clear();
  waiting_.clear();
  for (auto& stack : returns_) stack.clear();
  for (auto& saved : saved_) saved.clear();
  const LaneSet all = first_lanes(threads_);
  exited_ = first_lanes(kMaxLanes) - all;
  patience_ = kPatience;
  current_ = nullptr;
  if (!local_.empty()) {
    fill_poison(std::as_writable_bytes(std::span(local_)));
    std::fill(local_shadow_.begin(), local_shadow_.end(), ~uint32_t{0});
  }
  for (const SpecialPlace& special : kernel_.specials) fill_special(special, /*only_block=*/true);
  set_active(all);
  for (const Place& place : kernel_.callees[0].poisoned) poison(place);
  add_subset(kernel_.callees[0].entry_block, all);
}

// What the active lanes' registers hold that a function may read before it writes them.
void WarpGroup::poison(Place place) {
  active_.for_each([&](int lane) {
    const size_t at = static_cast<size_t>(lane) * place.bytes;
    fill_poison({values<std::byte>(place) + at, place.bytes});
    if (has_shadows()) memset(shadows<std::byte>(place) + at, 0xFF, place.bytes);
  });
}

// ---- Divergent subsets ----

void WarpGroup::add_subset(uint32_t block, const LaneSet& lanes) {
  if (lanes.empty()) return;
  const auto place = std::lower_bound(subsets_.begin(), subsets_.end(), block,
                                      [](const Subset& s, uint32_t b) { return s.block < b; });
  if (place != subsets_.end() && place->block == block) {
    place->lanes |= lanes;
    place->resting = false;
  } else {
    subsets_.insert(place, {block, lanes, false});
  }
}

void WarpGroup::set_active(const LaneSet& lanes) {
  active_ = lanes;
  dense_ = (lanes | exited_) == first_lanes(kMaxLanes);
  expand_mask(lanes, active_words_);
}

// The first that does not rest; if all do, they have rested enough.
size_t WarpGroup::choose_subset() {
  for (size_t i = 0; i < subsets_.size(); ++i)
    if (!subsets_[i].resting) return i;
  for (Subset& subset : subsets_) subset.resting = false;
  return subsets_.size();
}

// Whether nobody has to run before lanes at that block do, or comes along with them from there.
bool WarpGroup::comes_first(uint32_t block) const {
  for (const Subset& subset : subsets_) {
    if (subset.block > block) break;
    if (subset.block == block || !subset.resting) return false;
  }
  return true;
}

Pause WarpGroup::run(uint64_t budget) {
  runs_ = true;
  const Pause pause = run_subsets(budget);
  runs_ = false;
  return pause;
}

Pause WarpGroup::run_subsets(uint64_t budget) {
  budget_ = grid_.counters().operations + budget;
  for (;;) {
    if (subsets_.empty() && !complete_warp_collectives())
      return waiting_.empty() ? Pause::kExited : Pause::kWaiting;
    const size_t chosen = choose_subset();
    if (chosen == subsets_.size() || grid_.counters().operations >= budget_) return Pause::kYielded;
    const Subset subset = subsets_[chosen];
    subsets_.erase(subsets_.begin() + static_cast<std::ptrdiff_t>(chosen));
    set_active(subset.lanes);
    patience_ = kPatience;
    run_subset(subset.block);
  }
}

void WarpGroup::run_subset(uint32_t number) {
  for (;;) {
    const BasicBlock& block = kernel_.blocks[number];
    const Operation* first = kernel_.operations.data() + block.first;
    grid_.count_work(block.count, static_cast<uint64_t>(active_.count()));
    if (grid_.observer()) grid_.observer()->basic_block(*this, number);
    uint32_t next = number + 1;
    if (block.count > 0) {
      const Operation& last = first[block.count - 1];
      if (last.flow == Flow::kCollective) return arrive(number, last);
      run_straight(first, &last);
      current_ = &last;
      if (last.flow == Flow::kAlu)
        compute(last);
      else if (last.flow == Flow::kHandler)
        run_handler(last);
      else
        next = follow(last, number + 1);
    }
    if (next == kStay) return;
    if (comes_first(next) && patience_ > 0 && grid_.counters().operations < budget_) {
      number = next;
      continue;
    }
    add_subset(next, active_);
    // Who has looked for what others write steps back at the end of a short turn, too: it may be another
    // subset of the warp group that shall write it.
    const bool looked = patience_ < kPatience && grid_.counters().operations >= budget_;
    if (patience_ <= 0 || looked)
      for (Subset& subset : subsets_)
        if (subset.block == next) subset.resting = true;
    return;
  }
}

void WarpGroup::run_straight(const Operation* op, const Operation* last) {
  for (; op != last; ++op) {
    if (op->flow == Flow::kAlu) {
      compute(*op);
    } else {
      run_handler(*op);
    }
  }
}

void WarpGroup::run_handler(const Operation& op) {
  if (op.order.strong) grid_.disturb(block_);
  current_ = &op;
  run_guarded(op);
}

void WarpGroup::compute(const Operation& op) {
  const bool direct = dense_ && op.guard == kNoSlot;
  AluArguments arguments;
  for (size_t i = 0; i < kMaxAluSources && op.sources[i]; ++i)
    arguments.sources[i] = values<std::byte>(op.sources[i]);
  const auto scratch = [&](std::byte* begin, size_t i) {
    return begin + i * 16 * static_cast<size_t>(lanes_);
  };
  for (size_t i = 0; i < kMaxAluDestinations; ++i)
    arguments.destinations[i] =
        direct && op.destinations[i] ? values<std::byte>(op.destinations[i]) : scratch(scratch_, i);
  alignas(64) uint32_t mask[kMaxLanes];
  const uint32_t* wanted = active_words_;
  if (op.guard != kNoSlot) {
    guard_words(values<uint32_t>({op.guard, 4}), op.guard_negated, active_words_, mask, lanes_);
    wanted = mask;
  }
  if (has_shadows()) {
    ShadowArguments shadow;
    for (size_t i = 0; i < kMaxAluSources && op.sources[i]; ++i) {
      shadow.sources[i] = shadows<std::byte>(op.sources[i]);
      shadow.values[i] = arguments.sources[i];
    }
    for (size_t i = 0; i < kMaxAluDestinations; ++i)
      shadow.destinations[i] =
          direct && op.destinations[i] ? shadows<std::byte>(op.destinations[i]) : scratch(shadow_scratch_, i);
    // Values first, if shadows went directly into an array whose values are still to be read: they do not, as
    // shadows lie in arrays of their own.
    op.shadow(shadow, lanes_);
    if (!direct)
      for (size_t i = 0; i < kMaxAluDestinations; ++i)
        if (op.destinations[i])
          blend(shadows<std::byte>(op.destinations[i]), shadow.destinations[i], wanted,
                op.destinations[i].bytes, lanes_);
  }
  op.alu(arguments, lanes_);
  if (direct) return;
  for (size_t i = 0; i < kMaxAluDestinations; ++i)
    if (op.destinations[i])
      blend(values<std::byte>(op.destinations[i]), arguments.destinations[i], wanted,
            op.destinations[i].bytes, lanes_);
}

LaneSet WarpGroup::lanes_where(Place predicate, bool negated) {
  LaneSet set;
  collect_mask(values<uint32_t>(predicate), lanes_, set);
  return negated ? first_lanes(lanes_) - set : set;
}

LaneSet WarpGroup::guarded_lanes(const Operation& op) {
  if (op.guard == kNoSlot) return active_;
  const Place guard{op.guard, 4};
  require_defined(guard, "a condition");
  return active_ & lanes_where(guard, op.guard_negated);
}

void WarpGroup::run_guarded(const Operation& op) {
  if (op.guard == kNoSlot) return op.handler(*this, op);
  const LaneSet before = active_;
  const LaneSet lanes = guarded_lanes(op);
  if (lanes.empty()) return;
  if (lanes == before) return op.handler(*this, op);
  set_active(lanes);
  op.handler(*this, op);
  set_active(before);
}

uint32_t WarpGroup::follow(const Operation& op, uint32_t next_block) {
  const LaneSet lanes = guarded_lanes(op);
  const LaneSet others = active_ - lanes;
  if (lanes.empty()) return next_block;
  switch (op.flow) {
    case Flow::kBranch:
      if (others.empty()) return op.target;
      add_subset(op.target, lanes);
      add_subset(next_block, others);
      return kStay;
    case Flow::kExit:
      exited_ |= lanes;
      if (others.empty()) return kStay;
      set_active(others);
      return next_block;
    default:
      break;
  }
  add_subset(next_block, others);
  set_active(lanes);
  if (op.flow == Flow::kCall) {
    call(op, op.target);
    return kernel_.callees[op.target].entry_block;
  }
  spread_by_value(op);
  return kStay;
}

// ---- Faults ----

uint64_t WarpGroup::clock() const { return grid_.clock(); }

void WarpGroup::fail(FaultClass fault_class, const std::string& message, int lane) {
  KernelFault fault{fault_class, message, kernel_.name};
  const Operation* op = current_ ? current_ : waiting_at();
  if (op) {
    fault.source_line = op->source.line;
    fault.text_line = op->text_line;
  }
  if (lane >= 0) {
    const Dim3 thread = block_.thread_index(first_thread_ + lane);
    const Dim3& index = block_.index();
    fault.place = concat("block ", index[0], ", ", index[1], ", ", index[2], ", thread ", thread[0], ", ",
                         thread[1], ", ", thread[2]);
  }
  throw FaultError(fault);
}

void WarpGroup::require_defined(Place place, const char* what) {
  if (!has_shadows()) return;
  const std::byte* shadow = shadows<std::byte>(place);
  if (!any_set(shadow, active_words_, place.bytes, lanes_)) return;
  active_.for_each([&](int lane) {
    for (size_t i = 0; i < place.bytes; ++i)
      if (shadow[static_cast<size_t>(lane) * place.bytes + i] != std::byte{0})
        fail(FaultClass::kUninitialised, concat(what, " was never written"), lane);
  });
}

}  // namespace bicrl::ptx

#include "sandbox/ptx/strand.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "sandbox/ptx/grid.h"
#include "sandbox/ptx/strand_masks.h"
#include "sandbox/ptx/thread_block.h"

namespace bicrl::ptx {
namespace {

constexpr uint32_t kStay = ~uint32_t{0};
// Reads of what others write that a fragment may do before it steps back.
constexpr int kPatience = 256;
constexpr size_t kMaxCallDepth = 64;

LaneSet first_lanes(int count) {
  LaneSet set;
  for (int warp = 0; warp * kWarpLanes < count; ++warp) {
    const int lanes = std::min(kWarpLanes, count - warp * kWarpLanes);
    set.warps[static_cast<size_t>(warp)] = lanes == kWarpLanes ? ~uint32_t{0} : (uint32_t{1} << lanes) - 1;
  }
  return set;
}

}  // namespace

Strand::Strand(ThreadBlock& block, int first_thread, int threads)
    : block_(block),
      grid_(block.grid()),
      kernel_(grid_.kernel()),
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
  fill_constants();
  for (const SpecialPlace& special : kernel_.specials) fill_special(special, /*only_block=*/false);
}

void Strand::begin() {
  fragments_.clear();
  waiting_.clear();
  for (auto& stack : returns_) stack.clear();
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
  add_fragment(kernel_.callees[0].entry_block, all);
}

// What the active lanes' registers hold that a function may read before it writes them.
void Strand::poison(Place place) {
  active_.for_each([&](int lane) {
    const size_t at = static_cast<size_t>(lane) * place.bytes;
    fill_poison({values<std::byte>(place) + at, place.bytes});
    if (has_shadows()) memset(shadows<std::byte>(place) + at, 0xFF, place.bytes);
  });
}

// ---- What slots hold from the start on ----

void Strand::fill_constants() {
  for (const Constant& constant : kernel_.constants) {
    uint64_t value = static_cast<uint64_t>(constant.bits);
    if (constant.kind == Constant::Kind::kVariable) value += grid_.module().address_of(constant.index);
    std::byte* array = values<std::byte>(constant.place);
    const size_t bytes = constant.place.bytes;
    for (int lane = 0; lane < lanes_; ++lane) {
      std::byte* element = array + static_cast<size_t>(lane) * bytes;
      memset(element, constant.bits < 0 ? 0xFF : 0, bytes);
      memcpy(element, &value, std::min<size_t>(bytes, sizeof value));
    }
  }
}

void Strand::fill_special(const SpecialPlace& special, bool only_block) {
  const Dim3& grid = grid_.config().grid;
  const Dim3& size = grid_.config().block;
  const auto fill = [&](const auto& value_of) {
    uint32_t* array = values<uint32_t>(special.place);
    for (int lane = 0; lane < lanes_; ++lane) array[lane] = value_of(lane);
  };
  const auto of_block = [&](const auto& value) {
    if (only_block) fill([&](int) { return static_cast<uint32_t>(value); });
  };
  const auto of_launch = [&](const auto& value_of) {
    if (!only_block) fill([&](int lane) { return static_cast<uint32_t>(value_of(lane)); });
  };
  const auto thread = [&](size_t axis) {
    of_launch([&](int lane) { return block_.thread_index(first_thread_ + lane)[axis]; });
  };
  const auto always = [&](uint32_t value) { of_launch([&](int) { return value; }); };
  const Kernel& kernel = kernel_;
  switch (special.special) {
    case Special::kTidX:
      return thread(0);
    case Special::kTidY:
      return thread(1);
    case Special::kTidZ:
      return thread(2);
    case Special::kNtidX:
      return always(size[0]);
    case Special::kNtidY:
      return always(size[1]);
    case Special::kNtidZ:
      return always(size[2]);
    case Special::kCtaidX:
      return of_block(block_.index()[0]);
    case Special::kCtaidY:
      return of_block(block_.index()[1]);
    case Special::kCtaidZ:
      return of_block(block_.index()[2]);
    case Special::kNctaidX:
      return always(grid[0]);
    case Special::kNctaidY:
      return always(grid[1]);
    case Special::kNctaidZ:
      return always(grid[2]);
    case Special::kLaneId:
      return of_launch([](int lane) { return lane % kWarpLanes; });
    case Special::kWarpId:
      return of_launch([&](int lane) { return (first_thread_ + lane) / kWarpLanes; });
    case Special::kNWarpId:
      return always((grid_.threads_per_block() + kWarpLanes - 1) / kWarpLanes);
    case Special::kSmId:
      return of_block((block_.index()[0] + uint64_t{block_.index()[1]} * grid[0]) % grid_.device().sm_count);
    case Special::kNSmId:
      return always(grid_.device().sm_count);
    case Special::kLaneMaskEq:
      return of_launch([](int lane) { return 1U << lane % kWarpLanes; });
    case Special::kLaneMaskLe:
      return of_launch([](int lane) { return (2U << lane % kWarpLanes) - 1; });
    case Special::kLaneMaskLt:
      return of_launch([](int lane) { return (1U << lane % kWarpLanes) - 1; });
    case Special::kLaneMaskGe:
      return of_launch([](int lane) { return ~((1U << lane % kWarpLanes) - 1); });
    case Special::kLaneMaskGt:
      return of_launch([](int lane) { return ~((2U << lane % kWarpLanes) - 1); });
    case Special::kDynamicSharedBytes:
      return always(grid_.config().dynamic_shared_bytes);
    case Special::kTotalSharedBytes:
      return always(kernel.static_shared_bytes + grid_.config().dynamic_shared_bytes);
    default:
      return always(0);  // the identifiers of the grid and of the environment
  }
}

// ---- Fragments ----

void Strand::add_fragment(uint32_t block, const LaneSet& lanes) {
  if (lanes.empty()) return;
  const auto place = std::lower_bound(fragments_.begin(), fragments_.end(), block,
                                      [](const Fragment& f, uint32_t b) { return f.block < b; });
  if (place != fragments_.end() && place->block == block) {
    place->lanes |= lanes;
    place->resting = false;
  } else {
    fragments_.insert(place, {block, lanes, false});
  }
}

void Strand::set_active(const LaneSet& lanes) {
  active_ = lanes;
  dense_ = (lanes | exited_) == first_lanes(kMaxLanes);
  expand_mask(lanes, active_words_);
}

// The first that does not rest; if all do, they have rested enough.
size_t Strand::choose_fragment() {
  for (size_t i = 0; i < fragments_.size(); ++i)
    if (!fragments_[i].resting) return i;
  for (Fragment& fragment : fragments_) fragment.resting = false;
  return fragments_.size();
}

// Whether nobody has to run before lanes at that block do, or comes along with them from there.
bool Strand::comes_first(uint32_t block) const {
  for (const Fragment& fragment : fragments_) {
    if (fragment.block > block) break;
    if (fragment.block == block || !fragment.resting) return false;
  }
  return true;
}

Pause Strand::run(uint64_t budget) {
  budget_ = grid_.counters().operations + budget;
  for (;;) {
    if (fragments_.empty() && !complete_warp_meetings())
      return waiting_.empty() ? Pause::kExited : Pause::kWaiting;
    const size_t chosen = choose_fragment();
    if (chosen == fragments_.size() || grid_.counters().operations >= budget_) return Pause::kYielded;
    const Fragment fragment = fragments_[chosen];
    fragments_.erase(fragments_.begin() + static_cast<std::ptrdiff_t>(chosen));
    set_active(fragment.lanes);
    patience_ = kPatience;
    run_fragment(fragment.block);
  }
}

void Strand::run_fragment(uint32_t number) {
  for (;;) {
    const BasicBlock& block = kernel_.blocks[number];
    const Operation* first = kernel_.operations.data() + block.first;
    grid_.count_work(block.count, static_cast<uint64_t>(active_.count()));
    uint32_t next = number + 1;
    if (block.count > 0) {
      const Operation& last = first[block.count - 1];
      if (last.flow == Flow::kMeeting) return meet(number, last);
      run_straight(first, &last);
      current_ = &last;
      if (last.flow == Flow::kAlu)
        compute(last);
      else if (last.flow == Flow::kHandler)
        run_guarded(last);
      else
        next = follow(last, number + 1);
    }
    if (next == kStay) return;
    if (comes_first(next) && patience_ > 0 && grid_.counters().operations < budget_) {
      number = next;
      continue;
    }
    add_fragment(next, active_);
    if (patience_ <= 0)
      for (Fragment& fragment : fragments_)
        if (fragment.block == next) fragment.resting = true;
    return;
  }
}

void Strand::run_straight(const Operation* op, const Operation* last) {
  for (; op != last; ++op) {
    if (op->flow == Flow::kAlu) {
      compute(*op);
    } else {
      current_ = op;
      run_guarded(*op);
    }
  }
}

void Strand::compute(const Operation& op) {
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
      for (size_t i = 0; i < kMaxAluDestinations && op.destinations[i]; ++i)
        blend(shadows<std::byte>(op.destinations[i]), shadow.destinations[i], wanted,
              op.destinations[i].bytes, lanes_);
  }
  op.alu(arguments, lanes_);
  if (direct) return;
  for (size_t i = 0; i < kMaxAluDestinations && op.destinations[i]; ++i)
    blend(values<std::byte>(op.destinations[i]), arguments.destinations[i], wanted, op.destinations[i].bytes,
          lanes_);
}

LaneSet Strand::lanes_where(Place predicate, bool negated) {
  LaneSet set;
  collect_mask(values<uint32_t>(predicate), lanes_, set);
  return negated ? first_lanes(lanes_) - set : set;
}

LaneSet Strand::guarded_lanes(const Operation& op) {
  if (op.guard == kNoSlot) return active_;
  const Place guard{op.guard, 4};
  require_defined(guard, "a condition");
  return active_ & lanes_where(guard, op.guard_negated);
}

void Strand::run_guarded(const Operation& op) {
  if (op.guard == kNoSlot) return op.handler(*this, op);
  const LaneSet before = active_;
  const LaneSet lanes = guarded_lanes(op);
  if (lanes.empty()) return;
  if (lanes == before) return op.handler(*this, op);
  set_active(lanes);
  op.handler(*this, op);
  set_active(before);
}

uint32_t Strand::follow(const Operation& op, uint32_t next_block) {
  const LaneSet lanes = guarded_lanes(op);
  const LaneSet others = active_ - lanes;
  if (lanes.empty()) return next_block;
  switch (op.flow) {
    case Flow::kBranch:
      if (others.empty()) return op.target;
      add_fragment(op.target, lanes);
      add_fragment(next_block, others);
      return kStay;
    case Flow::kExit:
      exited_ |= lanes;
      if (others.empty()) return kStay;
      set_active(others);
      return next_block;
    default:
      break;
  }
  add_fragment(next_block, others);
  set_active(lanes);
  if (op.flow == Flow::kCall) {
    call(op, op.target);
    return kernel_.callees[op.target].entry_block;
  }
  spread_by_value(op);
  return kStay;
}

// ---- Calls, and ways that lanes choose by a value ----

void Strand::copy_local(LocalRange from, LocalRange to) {
  const size_t lanes = static_cast<size_t>(lanes_);
  const size_t words = (std::min(from.bytes, to.bytes) + 3) / 4;
  const auto copy = [&](uint32_t* memory) {
    for (size_t word = 0; word < words; ++word) {
      uint32_t* target = memory + (to.begin / 4 + word) * lanes;
      const uint32_t* source = memory + (from.begin / 4 + word) * lanes;
      active_.for_each([&](int lane) { target[lane] = source[lane]; });
    }
  };
  copy(local_.data());
  if (has_shadows()) copy(local_shadow_.data());
}

void Strand::call(const Operation& op, uint32_t callee_number) {
  const Callee& callee = kernel_.callees[callee_number];
  const CallSite& site = kernel_.call_sites[op.more];
  for (size_t i = 0; i < std::min(site.arguments.size(), callee.parameters.size()); ++i)
    copy_local(site.arguments[i], callee.parameters[i]);
  for (const Place& place : callee.poisoned) poison(place);
  const auto where = static_cast<uint32_t>(&op - kernel_.operations.data());
  active_.for_each([&](int lane) {
    auto& stack = returns_[static_cast<size_t>(lane)];
    if (stack.size() >= kMaxCallDepth) fail(FaultClass::kMemory, "calls are nested too deeply", lane);
    stack.push_back({callee_number, where});
  });
}

void Strand::spread_by_value(const Operation& op) {
  const LaneSet all = active_;
  LaneSet left = all;
  // The first lane's way, taken by all that have the same; then the next one's.
  while (!left.empty()) {
    const int first = left.first();
    LaneSet alike;
    const auto gather = [&](const auto& value_of) {
      const auto value = value_of(first);
      left.for_each([&](int lane) {
        if (value_of(lane) == value) alike.add(lane);
      });
      return value;
    };
    if (op.flow == Flow::kReturn) {
      // Of a call; a return of the kernel itself has become an exit.
      const auto top = gather([&](int lane) { return returns_[static_cast<size_t>(lane)].back(); });
      const Operation& call_op = kernel_.operations[top.operation];
      const Callee& callee = kernel_.callees[top.callee];
      const CallSite& site = kernel_.call_sites[call_op.more];
      set_active(alike);
      for (size_t i = 0; i < std::min(site.results.size(), callee.returns.size()); ++i)
        copy_local(callee.returns[i], site.results[i]);
      alike.for_each([&](int lane) { returns_[static_cast<size_t>(lane)].pop_back(); });
      add_fragment(call_op.next_block, alike);
    } else if (op.flow == Flow::kIndexedBranch) {
      require_defined(op.sources[0], "an index of a branch");
      const auto& table = kernel_.branch_tables[op.target];
      const uint32_t index = gather([&](int lane) { return values<uint32_t>(op.sources[0])[lane]; });
      if (index >= table.size()) fail(FaultClass::kIllegalAccess, "a branch beyond its table", first);
      add_fragment(table[index], alike);
    } else {
      require_defined(op.sources[0], "the address of a function");
      const uint64_t address = gather([&](int lane) { return values<uint64_t>(op.sources[0])[lane]; });
      uint32_t callee = 0;
      while (callee < kernel_.callees.size() && function_address(kernel_.callees[callee].function) != address)
        ++callee;
      if (callee == 0 || callee == kernel_.callees.size())
        fail(FaultClass::kIllegalAccess, "a call of what is no function", first);
      set_active(alike);
      call(op, callee);
      add_fragment(kernel_.callees[callee].entry_block, alike);
    }
    left -= alike;
  }
}

// ---- Meetings ----

void Strand::meet(uint32_t number, const Operation& op) {
  current_ = &op;
  LaneSet lanes = guarded_lanes(op);
  const LaneSet others = active_ - lanes;
  if (op.meeting == Meeting::kBlock) {
    if (!lanes.empty()) {
      set_active(lanes);
      op.handler(*this, op);  // which counts them, per barrier, and says where they wait
      if (op.detail != 0) add_fragment(number + 1, lanes);
    }
    add_fragment(number + 1, others);
    return;
  }
  // Those that wait here already come along.
  for (size_t i = 0; i < waiting_.size(); ++i)
    if (waiting_[i].barrier < 0 && waiting_[i].block == number) {
      lanes |= waiting_[i].lanes;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i--));
    }
  add_fragment(number + 1, others);
  if (lanes.empty()) return;
  run_meeting(op, lanes, number + 1);
}

// Runs a warp operation for those of `lanes` that all have come, and lets the others wait.
void Strand::run_meeting(const Operation& op, const LaneSet& lanes, uint32_t next_block) {
  set_active(lanes);
  const LaneSet ready = ready_at(op, lanes);
  const LaneSet rest = lanes - ready;
  if (!rest.empty()) waiting_.push_back({next_block - 1, -1, rest});
  if (ready.empty()) return;
  set_active(ready);
  op.handler(*this, op);
  add_fragment(next_block, ready);
}

LaneSet Strand::ready_at(const Operation& op, const LaneSet& lanes) {
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
      if ((mask >> first & 1) == 0)
        fail(FaultClass::kBarrier, "a lane is not in the mask of its own warp operation",
             static_cast<int>(warp) * kWarpLanes + first);
      uint32_t alike = 0;
      for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        if (masks[warp * kWarpLanes + static_cast<size_t>(lane)] == mask) alike |= uint32_t{1} << lane;
      }
      if ((mask & ~gone & ~alike) == 0) ready.warps[warp] |= alike;
      left &= ~alike;
    }
  }
  return ready;
}

// Lanes may have exited since; true if somebody can go on.
bool Strand::complete_warp_meetings() {
  const std::vector<Waiting> before = std::move(waiting_);
  waiting_.clear();
  for (const Waiting& meeting : before) {
    if (meeting.barrier >= 0) {
      waiting_.push_back(meeting);
      continue;
    }
    const Operation& op = kernel_.operations[kernel_.blocks[meeting.block].first];
    current_ = &op;
    run_meeting(op, meeting.lanes, meeting.block + 1);
  }
  return !fragments_.empty();
}

void Strand::wait_at_barrier(uint32_t barrier, const LaneSet& lanes) {
  const auto block =
      static_cast<uint32_t>(std::upper_bound(kernel_.blocks.begin(), kernel_.blocks.end(),
                                             static_cast<uint32_t>(current_ - kernel_.operations.data()),
                                             [](uint32_t op, const BasicBlock& b) { return op < b.first; }) -
                            kernel_.blocks.begin() - 1);
  waiting_.push_back({block, static_cast<int32_t>(barrier), lanes});
}

void Strand::release(uint32_t barrier) {
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
    add_fragment(waiting.block + 1, waiting.lanes);
  }
}

const Operation* Strand::waiting_at() const {
  if (waiting_.empty()) return nullptr;
  return &kernel_.operations[kernel_.blocks[waiting_.front().block].first];
}

// ---- Faults ----

uint64_t Strand::clock() const { return grid_.clock(); }

void Strand::fail(FaultClass fault_class, const std::string& message, int lane) {
  Fault fault{fault_class, message, kernel_.name, 0};
  const Operation* op = current_ ? current_ : waiting_at();
  if (op) {
    fault.source_line = op->source.line;
    fault.text_line = op->text_line;
  }
  if (lane >= 0) {
    const Dim3 thread = block_.thread_index(first_thread_ + lane);
    const Dim3& index = block_.index();
    fault.message += concat(" (block ", index[0], ", ", index[1], ", ", index[2], ", thread ", thread[0],
                            ", ", thread[1], ", ", thread[2], ")");
  }
  throw FaultError(fault);
}

void Strand::require_defined(Place place, const char* what) {
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

// Of the detector: barriers, fences, and strong accesses, through which threads pass on what they
// know.
#include <algorithm>
#include <bit>

#include "sandbox/interpreter/races/visit.h"

namespace bicrl::races {

using ptx::kWarpLanes;
using ptx::LaneAccess;
using ptx::LaneSet;
using ptx::MemoryOrder;
using ptx::Operation;
using ptx::ThreadBlock;
using ptx::WarpGroup;

// ---- Barriers ----

// A barrier that was complete has forgotten who came: who comes to it for the next time learns of those
// before only if somebody who was there comes again. Then the log goes on; else there is a new one.
void RaceDetector::barrier_arrival(WarpGroup& warp_group, uint32_t number, const LaneSet& lanes, bool waits) {
  BlockState& state = state_of(warp_group.block());
  BlockState::Barrier& barrier = state.barriers[number];
  if (barrier.log != kNoLog)
    lanes.for_each([&](int lane) {
      const int thread = warp_group.first_thread() + lane;
      barrier.continues |= state.clock.acquired_version(thread, barrier.log) >= barrier.version;
    });
  if (waits) {
    barrier.waiting[warp_group.number()] |= lanes;
    return;
  }
  for (int warp = 0; warp < ptx::kMaxWarps; ++warp)
    if (const uint32_t here = lanes.warps[static_cast<size_t>(warp)]; here != 0)
      barrier.arrived.push_back(state.clock.current(warp_group.first_thread() / kWarpLanes + warp, here));
  state.clock.tick();
}

void RaceDetector::barrier_completed(ThreadBlock& block, uint32_t number) {
  BlockState& state = state_of(block);
  BlockState::Barrier& barrier = state.barriers[number];
  bool everybody = barrier.arrived.empty();
  for (const auto& warp_group : block.warp_groups()) {
    const LaneSet& waiting = barrier.waiting[warp_group->number()];
    for (size_t warp = 0; warp * kWarpLanes < static_cast<size_t>(warp_group->lanes()); ++warp)
      everybody &= (~warp_group->exited().warps[warp] & ~waiting.warps[warp]) == 0;
  }
  if (everybody)
    state.clock.block_barrier();
  else
    complete_counted(block, state, number);
  std::fill(std::begin(barrier.waiting), std::end(barrier.waiting), LaneSet{});
  barrier.arrived.clear();
  barrier.continues = false;
}

void RaceDetector::complete_counted(ThreadBlock& block, BlockState& state, uint32_t number) {
  BlockState::Barrier& barrier = state.barriers[number];
  if (barrier.log == kNoLog || !barrier.continues) barrier.log = logs_.make();
  for (const Knowledge& knowledge : barrier.arrived) logs_.append(barrier.log, knowledge);
  const auto for_each_warp = [&](const auto& work) {
    for (const auto& warp_group : block.warp_groups())
      for (int warp = 0; warp < ptx::kMaxWarps; ++warp)
        if (const uint32_t lanes = barrier.waiting[warp_group->number()].warps[static_cast<size_t>(warp)];
            lanes != 0)
          work(warp_group->first_thread() / kWarpLanes + warp, lanes);
  };
  for_each_warp(
      [&](int warp, uint32_t lanes) { logs_.append(barrier.log, state.clock.current(warp, lanes)); });
  state.clock.tick();
  barrier.version = logs_.version(barrier.log);
  for_each_warp([&](int warp, uint32_t lanes) {
    for (; lanes != 0; lanes &= lanes - 1)
      state.clock.acquire(warp * kWarpLanes + std::countr_zero(lanes), barrier.log, barrier.version);
  });
}

void RaceDetector::warp_barrier(WarpGroup& warp_group, int warp, uint32_t lanes) {
  const uint32_t of_warp = ~warp_group.exited().warps[static_cast<size_t>(warp)];
  state_of(warp_group.block())
      .clock.warp_barrier(warp_group.first_thread() / kWarpLanes + warp, lanes, of_warp);
}

void RaceDetector::fence(WarpGroup& warp_group, const Operation& op) {
  if (!op.order.releases) return;
  state_of(warp_group.block())
      .clock.fence(warp_group.first_thread(), warp_group.active(),
                   op.order.scope == MemoryOrder::Scope::kDevice);
}

void RaceDetector::phases_begin(WarpGroup& warp_group, const Operation& op, int lane, uint64_t place) {
  BlockState& state = state_of(warp_group.block());
  state.phases[place] = {logs_.make(), static_cast<uint32_t>(&op - kernel_->operations.data()),
                         state.clock.now(), warp_group.first_thread() + lane};
}

void RaceDetector::visit_phases(BlockState& state, const Phases& phases, int thread, uint64_t place) {
  Visit visit;
  visit.state = &state;
  const uint32_t serial = state.clock.serial();
  visit.base = visit.key = serial;
  if (knows(visit, thread, serial, phases.thread, phases.stamp)) return;
  visit.in_shared = true;
  visit.operation = phases.operation;
  visit.op = &kernel_->operations[phases.operation];
  record(visit, {serial, phases.operation, phases.thread, true}, thread, place >> visit.shift);
}

void RaceDetector::phase_arrival(ThreadBlock& block, int thread, uint64_t place) {
  BlockState& state = state_of(block);
  const auto found = state.phases.find(place);
  if (found == state.phases.end()) return;  // what is there was made by plain writes
  visit_phases(state, found->second, thread, place);
  logs_.append(found->second.log,
               state.clock.current(thread / kWarpLanes, uint32_t{1} << thread % kWarpLanes));
  state.clock.tick();
}

void RaceDetector::phase_ended(ThreadBlock& block, int thread, uint64_t place) {
  BlockState& state = state_of(block);
  const auto found = state.phases.find(place);
  if (found == state.phases.end()) return;
  visit_phases(state, found->second, thread, place);
  state.clock.acquire(thread, found->second.log, logs_.version(found->second.log));
}

// ---- Asynchronous copies: a write when they are begun, and another one when they have landed ----

void RaceDetector::copy_begun(WarpGroup& warp_group, const Operation& op, int lane, uint64_t place,
                              uint32_t bytes) {
  visit_copy(warp_group.block(), &op, warp_group.first_thread() + lane, place, bytes);
}

void RaceDetector::copy_landed(ThreadBlock& block, int thread, uint64_t place, uint32_t bytes) {
  visit_copy(block, nullptr, thread, place, bytes);
}

void RaceDetector::visit_copy(ThreadBlock& block, const Operation* op, int thread, uint64_t place,
                              uint32_t bytes) {
  Visit visit;
  visit.state = &state_of(block);
  if (!visit.state->shared) visit.state->shared = std::make_unique<ShadowMemory>(block.shared_bytes());
  visit.memory = visit.state->shared.get();
  visit.base = visit.state->clock.serial();
  visit.key = visit.base;
  visit.in_shared = visit.writes = visit.copies = true;
  visit.shift = visit.memory->shift();
  for (uint64_t word = place >> visit.shift; word << visit.shift < place + bytes; ++word) {
    ShadowPage* page = visit.memory->page(word, pages_left_);
    if (!page) return;
    // What has landed is the operation's that is in the cell, unless another thread has written there.
    visit.operation = op ? static_cast<uint32_t>(op - kernel_->operations.data())
                         : operation_of(page->writers[word % ShadowPage::kWords]);
    visit.op = &kernel_->operations[visit.operation];
    write_word(visit, *page, thread, -1, word);
  }
}

// ---- Strong accesses ----

void RaceDetector::visit_strong(Visit& visit) {
  visit.shift = visit.memory->shift();
  visit.access->lanes.for_each([&](int lane) {
    const uint64_t begin = visit.begin + visit.access->offsets[lane];
    for (uint64_t byte = begin; byte < begin + visit.access->bytes; byte += 4) strong_lane(visit, lane, byte);
    visit.done.add(lane);
  });
}

void RaceDetector::strong_lane(Visit& visit, int lane, uint64_t byte) {
  const int thread = visit.first_thread + lane;
  against_weak(visit, thread, byte);
  StrongCell& cell = visit.memory->strong_cell(byte);
  const BlockClock& clock = visit.state->clock;
  // Whether it leaves another value there than it finds.
  bool changes = visit.writes;
  if (visit.access->kind == LaneAccess::Kind::kWrite && visit.access->element_bytes >= 4) {
    const auto offset = static_cast<uint32_t>(byte - visit.begin - visit.access->offsets[lane]);
    changes = memcmp(visit.data + visit.access->offsets[lane] + offset, visit.stored(lane, offset), 4) != 0;
  }
  const auto look = [&](std::vector<StrongAccess>& earlier, bool writes) {
    for (const StrongAccess& access : earlier)
      if (!(writes && has_seen(visit, cell, access, thread)) &&
          strong_conflict(visit, access, writes, thread, changes))
        record(visit, {access.serial, access.operation, access.thread, writes}, thread, byte >> visit.shift);
    std::erase_if(earlier, [&](const StrongAccess& access) {
      return access.serial < visit.base ||
             (access.serial == clock.serial() && (access.thread == thread || access.stamp <= clock.floor()));
    });
  };
  if (visit.writes) look(cell.reads, false);
  look(cell.writes, true);
  synchronise(visit, cell, thread, visit.data + (byte - visit.begin));
  constexpr size_t kMaxAccesses = 16;
  auto& list = visit.writes ? cell.writes : cell.reads;
  if (list.size() >= kMaxAccesses) list.erase(list.begin());
  const uint32_t version = visit.writes && cell.log != kNoLog ? logs_.version(cell.log) : ~uint32_t{0};
  list.push_back({clock.serial(), clock.now(), visit.operation, thread, version});
}

// Who has seen what a strong write released there, or what came behind it, comes behind that write as well.
bool RaceDetector::has_seen(const Visit& visit, const StrongCell& cell, const StrongAccess& write,
                            int thread) {
  return cell.log != kNoLog && visit.state->clock.acquired_version(thread, cell.log) >= write.version;
}

// Two strong accesses that nothing orders are a race all the same if their scopes do not hold both, and where
// volatile stands for a barrier of the warp, or for an atomic operation.
bool RaceDetector::strong_conflict(const Visit& visit, const StrongAccess& earlier, bool earlier_writes,
                                   int thread, bool changes) const {
  if (knows(visit, thread, earlier.serial, earlier.thread, earlier.stamp)) return false;
  const MemoryOrder& before = kernel_->operations[earlier.operation].order;
  const MemoryOrder& order = visit.op->order;
  const bool same_block = earlier.serial == visit.state->clock.serial();
  const bool narrow = before.scope == MemoryOrder::Scope::kBlock || order.scope == MemoryOrder::Scope::kBlock;
  if (!same_block && narrow) return visit.writes || earlier_writes;
  if (!before.is_volatile || !order.is_volatile) return false;
  if (visit.writes && !changes) return false;
  if (visit.writes && earlier_writes) return true;
  return visit.in_shared && same_block && earlier.thread / kWarpLanes == thread / kWarpLanes &&
         (visit.writes || earlier_writes);
}

// Readers acquire what the location holds, and writers release. A plain store that releases nothing ends what
// came before it.
//
// Cooperative groups count the blocks that have come to the barrier of a grid in a word whose highest bit
// turns when all have. Who finds it turned may find as well that some blocks have come to the next barrier;
// to have seen that is luck, and orders nothing.
void RaceDetector::synchronise(Visit& visit, StrongCell& cell, int thread, const std::byte* data) {
  BlockClock& clock = visit.state->clock;
  const LaneAccess::Kind kind = visit.access->kind;
  const bool reads =
      kind == LaneAccess::Kind::kRead || (kind == LaneAccess::Kind::kAtomic && visit.op->destinations[0]);
  uint32_t version = cell.log != kNoLog ? logs_.version(cell.log) : 0;
  if (visit.key == grid_workspace_ && !visit.in_shared && visit.access->bytes == 4) {
    uint32_t word = 0;
    memcpy(&word, data, sizeof word);
    if (const bool turned = word >> 31 != 0; turned != cell.turned) {
      cell.turned = turned;
      cell.turned_version = version;
    }
    version = cell.turned_version;
  }
  if (reads) clock.acquire(thread, cell.log, version);
  if (!visit.writes) return;
  const std::vector<Knowledge> released = clock.released(thread, visit.op->order);
  if (released.empty() && kind == LaneAccess::Kind::kWrite) cell.log = kNoLog;
  if (released.empty()) return;
  if (cell.log == kNoLog) cell.log = logs_.make();
  for (const Knowledge& knowledge : released) logs_.append(cell.log, knowledge);
}

// A strong access and weak ones of others.
void RaceDetector::against_weak(Visit& visit, int thread, uint64_t byte) {
  const uint64_t end = byte + std::min<uint32_t>(4, visit.access->bytes);
  for (uint64_t word = byte >> visit.shift; word << visit.shift < end; ++word) {
    ShadowPage* page = visit.memory->page(word, pages_left_);
    if (!page) return;
    const uint64_t at = word % ShadowPage::kWords;
    const uint32_t writer = page->writers[at];
    const auto other = static_cast<int>(writer & kThreadMask);
    // Who leaves the bytes as they are disturbs no reader.
    if ((visit.writes || (writer & kUnchanged) == 0) &&
        !knows(visit, thread, page->write_serials[at], other, page->write_stamps[at]))
      record(visit, {page->write_serials[at], operation_of(writer), other, true}, thread, word);
    if (visit.writes)
      for (const Earlier& earlier : unknown_readers(visit, *page, at, thread))
        record(visit, earlier, thread, word);
  }
}

// A weak access and strong ones of others.
void RaceDetector::visit_strong_cell(Visit& visit, int thread, uint64_t word) {
  auto& cells = visit.memory->strong();
  const auto found = cells.find(word << visit.shift >> 2);
  if (found == cells.end()) return;
  StrongCell& cell = found->second;
  const auto look = [&](const std::vector<StrongAccess>& earlier, bool writes) {
    for (const StrongAccess& access : earlier) {
      if (writes && has_seen(visit, cell, access, thread)) continue;
      if (!knows(visit, thread, access.serial, access.thread, access.stamp))
        record(visit, {access.serial, access.operation, access.thread, writes}, thread, word);
    }
  };
  look(cell.writes, true);
  if (!visit.writes) return;
  look(cell.reads, false);
  cell = {};
}

}  // namespace bicrl::races

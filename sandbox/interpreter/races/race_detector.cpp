#include "sandbox/interpreter/races/race_detector.h"

#include <algorithm>
#include <bit>

#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"
#include "sandbox/interpreter/races/visit.h"

namespace bicrl::races {

using ptx::kWarpLanes;
using ptx::LaneAccess;
using ptx::Operation;
using ptx::Region;
using ptx::Space;
using ptx::ThreadBlock;
using ptx::WarpGroup;

RaceDetector::RaceDetector(const DetectorLimits& limits)
    : limits_(limits), pages_left_(limits.shadow_bytes / sizeof(ShadowPage)) {}
RaceDetector::~RaceDetector() = default;

// ---- Launches and blocks ----

void RaceDetector::launch_begins(ptx::Grid& grid) {
  kernel_ = &grid.kernel();
  last_block_ = nullptr;
  ++launch_;
  grid_workspace_ = grid.config().cooperative ? grid.config().grid_workspace : 0;
  base_ = serial_ + 1;
  blocks_.clear();
  logs_.clear();
  orders_blocks_ = std::any_of(kernel_->operations.begin(), kernel_->operations.end(),
                               [](const Operation& op) { return op.order.releases; });
  has_flags_ = std::any_of(kernel_->operations.begin(), kernel_->operations.end(),
                           [](const Operation& op) { return op.plans && !op.writes && op.order.strong; });
  find_guesses();
  for (auto& [address, memory] : memories_) {
    memory->forget_lists();
    memory->forget_strong();
  }
}

void RaceDetector::launch_ends(ptx::Grid&) {
  states_.clear();
  last_block_ = nullptr;
  last_state_ = nullptr;
}

void RaceDetector::block_begins(ThreadBlock& block) {
  auto& state = states_[&block];
  if (!state) state = std::make_unique<BlockState>();
  state->clock.begin(++serial_);
  blocks_.push_back(block.index());
  state->barriers = {};
  state->phases.clear();
  if (state->shared) {
    state->shared->forget_lists();
    state->shared->forget_strong();
  }
}

RaceDetector::BlockState& RaceDetector::state_of(ThreadBlock& block) {
  if (&block != last_block_) {
    last_block_ = &block;
    last_state_ = states_.at(&block).get();
  }
  return *last_state_;
}

ShadowMemory& RaceDetector::global_memory(uint64_t address, uint64_t bytes) {
  if (address != last_address_ || !last_memory_) {
    auto& memory = memories_[address];
    if (!memory) memory = std::make_unique<ShadowMemory>(bytes);
    last_address_ = address;
    last_memory_ = memory.get();
  }
  return *last_memory_;
}

bool RaceDetector::find_memory(Visit& visit, const Region& region) {
  if (region.local || region.space == Space::kParam) return false;
  if (region.space == Space::kShared) {
    ThreadBlock& block = visit.warp_group->block();
    if (!visit.state->shared) visit.state->shared = std::make_unique<ShadowMemory>(block.shared_bytes());
    visit.memory = visit.state->shared.get();
    visit.begin = static_cast<uint64_t>(region.data - block.shared());
    visit.base = visit.state->clock.serial();
    visit.in_shared = true;
    visit.key = visit.base;
    return true;
  }
  if (!region.writable) return false;  // constants
  visit.memory = &global_memory(region.begin, region.end - region.begin);
  visit.base = base_;
  visit.key = region.begin;
  return true;
}

// ---- Accesses ----

void RaceDetector::will_access(WarpGroup& warp_group, const Operation& op, const Region& region,
                               const LaneAccess& access) {
  Visit visit;
  visit.warp_group = &warp_group;
  visit.state = &state_of(warp_group.block());
  visit.op = &op;
  visit.operation = static_cast<uint32_t>(&op - kernel_->operations.data());
  visit.access = &access;
  if (!find_memory(visit, region)) return;
  visit.begin += access.base;
  visit.data = region.data + access.base;
  visit.writes = access.kind != LaneAccess::Kind::kRead;
  visit.first_thread = warp_group.first_thread();
  if (visit.writes && !visit.in_shared)
    visit.state->clock.note_global_writes(visit.first_thread, access.lanes);
  if (visit.writes) visit.memory->note_write(launch_);
  if (op.non_coherent && visit.memory->written_in(launch_)) visit_non_coherent(visit);
  if (op.order.strong || access.kind == LaneAccess::Kind::kAtomic)
    visit_strong(visit);
  else
    visit_weak(visit);
}

void RaceDetector::visit_weak(Visit& visit) {
  const LaneAccess& access = *visit.access;
  visit.memory->refine(std::min<uint32_t>(access.bytes, 4));
  visit.shift = visit.memory->shift();
  visit.words_per_lane = std::max<uint32_t>(1, access.bytes >> visit.shift);
  visit.words_per_lane_shift = std::countr_zero(visit.words_per_lane);
  constexpr int kGroup = ptx::AddressPlan::kGroup;
  for (int first = 0; first < visit.warp_group->lanes(); first += kGroup) {
    if (first % kWarpLanes == 0 && visit_warp(visit, first)) {
      first += kWarpLanes - kGroup;
      continue;
    }
    const uint32_t wanted =
        access.lanes.warps[static_cast<size_t>(first / kWarpLanes)] >> first % kWarpLanes & 0xFF;
    if (wanted == 0) continue;
    const int32_t step = access.steps ? access.steps[first / kGroup] : ptx::AddressPlan::kMixed;
    if (wanted == 0xFF && visit_group(visit, first, step)) {
      visit.done.warps[static_cast<size_t>(first / kWarpLanes)] |= wanted << first % kWarpLanes;
      continue;
    }
    for (uint32_t left = wanted; left != 0; left &= left - 1)
      visit_lane(visit, first + std::countr_zero(left));
  }
}

// Such a load may find in a cache what was there before.
void RaceDetector::visit_non_coherent(Visit& visit) {
  visit.memory->refine(std::min<uint32_t>(visit.access->bytes, 4));
  visit.shift = visit.memory->shift();
  visit.access->lanes.for_each([&](int lane) {
    const uint64_t begin = visit.begin + visit.access->offsets[lane];
    for (uint64_t word = begin >> visit.shift; word << visit.shift < begin + visit.access->bytes; ++word) {
      ShadowPage* page = visit.memory->page(word, pages_left_);
      if (!page) return;
      const uint64_t at = word % ShadowPage::kWords;
      const uint32_t writer = page->writers[at];
      if (page->write_serials[at] >= base_ && (writer & kUnchanged) == 0)
        record(visit,
               {page->write_serials[at], operation_of(writer), static_cast<int>(writer & kThreadMask), true},
               visit.first_thread + lane, word);
    }
  });
}

// A whole warp in rows of words. False if it has to be done in smaller parts.
bool RaceDetector::visit_warp(Visit& visit, int first) {
  const LaneAccess& access = *visit.access;
  constexpr int kGroups = kWarpLanes / ptx::AddressPlan::kGroup;
  if (!access.steps || access.lanes.warps[static_cast<size_t>(first / kWarpLanes)] != ~uint32_t{0})
    return false;
  const uint32_t bytes = access.bytes, begin = access.offsets[first];
  for (int group = 0; group < kGroups; ++group)
    if (access.steps[first / ptx::AddressPlan::kGroup + group] != static_cast<int32_t>(bytes) ||
        access.offsets[first + group * ptx::AddressPlan::kGroup] !=
            begin + static_cast<uint32_t>(group * ptx::AddressPlan::kGroup) * bytes)
      return false;
  const uint64_t word = (visit.begin + begin) >> visit.shift;
  if (word % kRowWords != 0) return false;
  const BlockClock& clock = visit.state->clock;
  const int thread = visit.first_thread + first;
  RowCell cell{clock.serial(), clock.now(), 0, 0};
  cell.word = visit.writes ? writer_word(visit.operation, thread)
                           : reader_word(visit.operation, Readers::kLanes, thread / kWarpLanes);
  if (visit.writes && visit.leaves_row(first)) cell.word |= kUnchanged;
  for (uint32_t part = 0; part < visit.words_per_lane; ++part) {
    const uint64_t at = word + part * kRowWords;
    RowPage& page = visit.memory->rows(at);
    const uint64_t row = at % ShadowPage::kWords / kRowWords;
    cell.shape = row_shape(part, visit.words_per_lane_shift);
    if ((page.expanded >> row & 1) != 0 || visit.memory->has_strong(at) ||
        visit.memory->has_strong(at + kRowWords - 1) ||
        !access_row(page, row, cell, visit.writes, visit.base, clock.floor()))
      return false;
  }
  visit.done.warps[static_cast<size_t>(first / kWarpLanes)] = ~uint32_t{0};
  return true;
}

// Eight lanes at one word each that they all read.
bool RaceDetector::visit_broadcast(Visit& visit, int first) {
  const uint64_t begin = (visit.begin + visit.access->offsets[first]) >> visit.shift;
  const int thread = visit.first_thread + first;
  for (uint64_t word = begin; word < begin + visit.words_per_lane; ++word) {
    if (visit.memory->has_strong(word)) return false;
    ShadowPage* page = visit.memory->page(word, pages_left_);
    if (!page) return true;
    const uint64_t at = word % ShadowPage::kWords;
    if (!is_stale(visit, page->write_serials[at], page->write_stamps[at])) return false;
    add_reader(visit, *page, at, thread, uint32_t{0xFF} << thread % kWarpLanes);
  }
  return true;
}

// Eight lanes in a row of words. False if it has to be done lane by lane.
bool RaceDetector::visit_group(Visit& visit, int first, int32_t step) {
  const LaneAccess& access = *visit.access;
  if (step == 0 && !visit.writes) return visit_broadcast(visit, first);
  if (step != static_cast<int32_t>(access.bytes)) return false;
  const uint64_t word = (visit.begin + access.offsets[first]) >> visit.shift;
  RowAccess row;
  row.words = static_cast<int>(visit.words_per_lane) * ptx::AddressPlan::kGroup;
  const uint64_t at = word % ShadowPage::kWords;
  if (at + static_cast<uint64_t>(row.words) > ShadowPage::kWords) return false;
  if (visit.memory->has_strong(word) || visit.memory->has_strong(word + static_cast<uint64_t>(row.words) - 1))
    return false;
  ShadowPage* page = visit.memory->page(word, pages_left_, row.words);
  if (!page) return true;
  const BlockClock& clock = visit.state->clock;
  const int thread = visit.first_thread + first;
  row.serial = clock.serial();
  row.stamp = clock.now();
  row.base = visit.base;
  row.floor = clock.floor();
  row.lane = thread % kWarpLanes;
  row.words_per_lane_shift = visit.words_per_lane_shift;
  if (!visit.writes) {
    row.word = reader_word(visit.operation, Readers::kLanes, thread / kWarpLanes);
    return read_row(*page, at, row);
  }
  row.word = writer_word(visit.operation, thread);
  uint32_t unchanged[ptx::AddressPlan::kGroup * 16];
  for (int i = 0; i < row.words; ++i) {
    const int lane = first + (i >> row.words_per_lane_shift);
    const auto part = static_cast<uint32_t>(i) & (visit.words_per_lane - 1);
    unchanged[i] = visit.leaves_bytes(lane, part) ? kUnchanged : 0;
  }
  return write_row(*page, at, row, unchanged);
}

void RaceDetector::visit_lane(Visit& visit, int lane) {
  const uint64_t word = (visit.begin + visit.access->offsets[lane]) >> visit.shift;
  for (uint32_t i = 0; i < visit.words_per_lane; ++i)
    visit_word(visit, visit.first_thread + lane, lane, word + i);
  visit.done.add(lane);
}

}  // namespace bicrl::races

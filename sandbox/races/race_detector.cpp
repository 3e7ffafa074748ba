#include "sandbox/races/race_detector.h"

#include <algorithm>
#include <cstring>

#include "sandbox/ptx/async_operations.h"
#include "sandbox/ptx/memory_access.h"
#include "sandbox/ptx/thread_block.h"
#include "sandbox/races/visit.h"

namespace bicrl::races {

using ptx::kWarpLanes;
using ptx::LaneAccess;
using ptx::LaneSet;
using ptx::MemoryOrder;
using ptx::Operation;
using ptx::Region;
using ptx::Space;
using ptx::Strand;
using ptx::ThreadBlock;

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
    ThreadBlock& block = visit.strand->block();
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

void RaceDetector::will_access(Strand& strand, const Operation& op, const Region& region,
                               const LaneAccess& access) {
  Visit visit;
  visit.strand = &strand;
  visit.state = &state_of(strand.block());
  visit.op = &op;
  visit.operation = static_cast<uint32_t>(&op - kernel_->operations.data());
  visit.access = &access;
  if (!find_memory(visit, region)) return;
  visit.begin += access.base;
  visit.data = region.data + access.base;
  visit.writes = access.kind != LaneAccess::Kind::kRead;
  visit.first_thread = strand.first_thread();
  if (visit.writes && !visit.in_shared)
    visit.state->clock.note_global_writes(visit.first_thread, access.lanes);
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
  for (int first = 0; first < visit.strand->lanes(); first += kGroup) {
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

void RaceDetector::visit_word(Visit& visit, int thread, int lane, uint64_t word) {
  ShadowPage* page = visit.memory->page(word, pages_left_);
  if (!page) return;
  if (visit.memory->has_strong(word)) visit_strong_cell(visit, thread, word);
  if (visit.writes)
    write_word(visit, *page, thread, lane, word);
  else
    read_word(visit, *page, thread, word);
}

bool RaceDetector::is_stale(const Visit& visit, uint32_t serial, uint32_t stamp) const {
  const BlockClock& clock = visit.state->clock;
  return serial < visit.base || (serial == clock.serial() && stamp <= clock.floor());
}

bool RaceDetector::knows(const Visit& visit, int thread, uint32_t serial, int other, uint32_t stamp) const {
  return is_stale(visit, serial, stamp) || visit.state->clock.knows(logs_, thread, serial, other, stamp);
}

void RaceDetector::read_word(Visit& visit, ShadowPage& page, int thread, uint64_t word) {
  const uint64_t at = word % ShadowPage::kWords;
  const uint32_t writer = page.writers[at];
  const auto other = static_cast<int>(writer & kThreadMask);
  if (!knows(visit, thread, page.write_serials[at], other, page.write_stamps[at])) {
    bool repeated = (writer & kUnchanged) != 0;
    if (const auto found = visit.memory->repeats().find(word); found != visit.memory->repeats().end()) {
      const ShadowMemory::Repeat& repeat = found->second;
      const std::pair<uint32_t, int> me{visit.state->clock.serial(), thread};
      repeated |= repeat.serial == page.write_serials[at] && repeat.stamp == page.write_stamps[at] &&
                  repeat.writer == writer &&
                  std::find(repeat.threads.begin(), repeat.threads.end(), me) != repeat.threads.end();
    }
    if (!repeated) record(visit, {page.write_serials[at], operation_of(writer), other, true}, thread, word);
  }
  add_reader(visit, page, at, thread, uint32_t{1} << thread % kWarpLanes);
}

// `bits`: the lanes of the thread's warp that read.
void RaceDetector::add_reader(Visit& visit, ShadowPage& page, uint64_t at, int thread, uint32_t bits) {
  const BlockClock& clock = visit.state->clock;
  const uint32_t serial = clock.serial(), now = clock.now();
  const int warp = thread / kWarpLanes;
  const uint32_t word = reader_word(visit.operation, Readers::kLanes, warp);
  uint32_t &of_serial = page.read_serials[at], &of_stamp = page.read_stamps[at];
  uint32_t &of_readers = page.readers[at], &of_lanes = page.lanes[at];
  const auto set = [&](uint32_t who, uint32_t lanes) {
    of_serial = serial;
    of_stamp = now;
    of_readers = who;
    of_lanes = lanes;
  };
  if (is_stale(visit, of_serial, of_stamp) &&
      (of_serial < visit.base || readers_of(of_readers) != Readers::kList))
    return set(word, bits);
  Readers how = readers_of(of_readers);
  const bool same_epoch = of_serial == serial && of_stamp == now;
  if (how == Readers::kLanes && same_epoch) {
    if (warp_of_word(of_readers) == warp) {
      of_lanes |= bits;
    } else {
      of_lanes = uint32_t{1} << warp | uint32_t{1} << warp_of_word(of_readers);
      of_readers = reader_word(operation_of(of_readers), Readers::kWarps, 0);
    }
    return;
  }
  if (how == Readers::kWarps && same_epoch) {
    of_lanes |= uint32_t{1} << warp;
    return;
  }
  if (how == Readers::kBlocks) return;
  if (of_serial != serial && how != Readers::kList && !orders_blocks_) {
    of_readers = reader_word(operation_of(of_readers), Readers::kBlocks, warp_of_word(of_readers));
    return;
  }
  auto& lists = visit.memory->lists();
  if (how != Readers::kList) {
    std::vector<Reader> list;
    if (how == Readers::kLanes) {
      list.push_back({of_serial, of_stamp, of_readers, of_lanes});
    } else {
      for (uint32_t left = of_lanes; left != 0; left &= left - 1)
        list.push_back({of_serial, of_stamp,
                        reader_word(operation_of(of_readers), Readers::kWarps, std::countr_zero(left)),
                        ~uint32_t{0}});
    }
    of_readers = reader_word(operation_of(of_readers), Readers::kList, 0);
    of_lanes = static_cast<uint32_t>(lists.size());
    lists.push_back(std::move(list));
  }
  auto& list = lists[of_lanes];
  of_serial = serial;
  of_stamp = now;
  for (Reader& reader : list) {
    if (reader.serial != serial || (reader.word & kReaderKind) != (word & kReaderKind)) continue;
    if (reader.stamp == now || reader.lanes == bits) {
      reader.stamp = now;
      reader.lanes |= bits;
      return;
    }
  }
  std::erase_if(list, [&](const Reader& reader) {
    bool known = true;
    for (uint32_t left = reader.lanes; left != 0; left &= left - 1)
      known = known && knows(visit, thread, reader.serial,
                             warp_of_word(reader.word) * kWarpLanes + std::countr_zero(left), reader.stamp);
    return known;
  });
  constexpr size_t kMaxReaders = 64, kMaxReadersOfBlocks = 8;
  if (list.size() >= (visit.in_shared ? kMaxReaders : kMaxReadersOfBlocks)) list.erase(list.begin());
  list.push_back({serial, now, word, bits});
}

std::vector<RaceDetector::Earlier> RaceDetector::unknown_readers(const Visit& visit, const ShadowPage& page,
                                                                 uint64_t at, int thread) const {
  std::vector<Earlier> unknown;
  const auto look = [&](uint32_t serial, uint32_t stamp, uint32_t word, uint32_t lanes) {
    if (is_stale(visit, serial, stamp)) return;
    const auto told = [&](int other) { unknown.push_back({serial, operation_of(word), other, false}); };
    const auto whole_warp = [&](int warp) {  // which of its lanes is not known
      if (serial == visit.state->clock.serial() && warp == thread / kWarpLanes) return;
      for (int lane = 0; lane < kWarpLanes; ++lane)
        if (knows(visit, thread, serial, warp * kWarpLanes + lane, stamp)) return;
      told(warp * kWarpLanes);
    };
    if (readers_of(word) == Readers::kWarps && lanes == ~uint32_t{0}) return whole_warp(warp_of_word(word));
    if (readers_of(word) == Readers::kWarps) {
      for (uint32_t left = lanes; left != 0; left &= left - 1) whole_warp(std::countr_zero(left));
      return;
    }
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const int other = warp_of_word(word) * kWarpLanes + std::countr_zero(left);
      if (!knows(visit, thread, serial, other, stamp)) told(other);
    }
  };
  if (page.read_serials[at] < visit.base) return unknown;
  switch (readers_of(page.readers[at])) {
    case Readers::kList:
      for (const Reader& reader : visit.memory->lists()[page.lanes[at]])
        look(reader.serial, reader.stamp, reader.word, reader.lanes);
      break;
    case Readers::kBlocks:
      unknown.push_back({page.read_serials[at], operation_of(page.readers[at]),
                         warp_of_word(page.readers[at]) * kWarpLanes, false});
      break;
    default:
      look(page.read_serials[at], page.read_stamps[at], page.readers[at], page.lanes[at]);
  }
  return unknown;
}

void RaceDetector::write_word(Visit& visit, ShadowPage& page, int thread, int lane, uint64_t word) {
  const uint64_t at = word % ShadowPage::kWords;
  const BlockClock& clock = visit.state->clock;
  const uint32_t writer = page.writers[at];
  const auto other = static_cast<int>(writer & kThreadMask);
  const bool ordered = knows(visit, thread, page.write_serials[at], other, page.write_stamps[at]);
  const bool by_this_operation = !ordered && page.write_serials[at] == clock.serial() &&
                                 page.write_stamps[at] == clock.now() &&
                                 operation_of(writer) == visit.operation;
  const bool repeats = repeats_value(visit, page, lane, word, by_this_operation);
  const std::vector<Earlier> readers = unknown_readers(visit, page, at, thread);
  if (repeats) repeated_writes_ += readers.size();
  if (!repeats)
    for (const Earlier& earlier : readers) record(visit, earlier, thread, word);
  if (!ordered && repeats) {
    ++repeated_writes_;
    auto& repeat = visit.memory->repeats()[word];
    if (repeat.serial != page.write_serials[at] || repeat.stamp != page.write_stamps[at] ||
        repeat.writer != writer)
      repeat = {page.write_serials[at], page.write_stamps[at], writer, {}};
    constexpr size_t kMaxThreads = 4096;
    if (repeat.threads.size() < kMaxThreads) repeat.threads.emplace_back(clock.serial(), thread);
    return;
  }
  if (!ordered) record(visit, {page.write_serials[at], operation_of(writer), other, true}, thread, word);
  page.write_serials[at] = clock.serial();
  page.write_stamps[at] = clock.now();
  page.writers[at] = writer_word(visit.operation, thread) | (repeats ? kUnchanged : 0);
  if (readers.empty() || !repeats) page.read_serials[at] = 0;
}

// Whether the write leaves what is there, or what another lane of the operation has written there.
bool RaceDetector::repeats_value(const Visit& visit, const ShadowPage& page, int lane, uint64_t word,
                                 bool by_this_operation) {
  if (lane < 0 || !visit.access || visit.access->element_bytes == 0) return false;
  const uint64_t begin = (visit.begin + visit.access->offsets[lane]) >> visit.shift;
  const auto part = static_cast<uint32_t>(word - begin);
  if (by_this_operation) {
    const int other =
        static_cast<int>(page.writers[word % ShadowPage::kWords] & kThreadMask) - visit.first_thread;
    if (other >= 0 && other < visit.strand->lanes() && visit.done.contains(other)) {
      const uint64_t of_other = (visit.begin + visit.access->offsets[other]) >> visit.shift;
      if (word >= of_other && word < of_other + visit.words_per_lane)
        return visit.equal_values(lane, part, other, static_cast<uint32_t>(word - of_other));
    }
  }
  return visit.leaves_bytes(lane, part);
}

}  // namespace bicrl::races

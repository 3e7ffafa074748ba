// Of the detector: what an access means for one word, its last write and the reads since.
#include <algorithm>
#include <bit>

#include "sandbox/interpreter/races/visit.h"

namespace bicrl::races {

using ptx::kWarpLanes;

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
  const Readers how = readers_of(of_readers);
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
  auto& list = reader_list(visit, page, at);
  of_serial = serial;
  of_stamp = now;
  add_to_list(visit, list, thread, {serial, now, word, bits});
}

// The cell's readers as a list, from now on.
std::vector<Reader>& RaceDetector::reader_list(Visit& visit, ShadowPage& page, uint64_t at) {
  const uint32_t serial = page.read_serials[at], stamp = page.read_stamps[at];
  uint32_t &of_readers = page.readers[at], &of_lanes = page.lanes[at];
  auto& lists = visit.memory->lists();
  if (readers_of(of_readers) == Readers::kList) return lists[of_lanes];
  std::vector<Reader> list;
  if (readers_of(of_readers) == Readers::kLanes) {
    list.push_back({serial, stamp, of_readers, of_lanes});
  } else {
    for (uint32_t left = of_lanes; left != 0; left &= left - 1)
      list.push_back({serial, stamp,
                      reader_word(operation_of(of_readers), Readers::kWarps, std::countr_zero(left)),
                      ~uint32_t{0}});
  }
  of_readers = reader_word(operation_of(of_readers), Readers::kList, 0);
  of_lanes = static_cast<uint32_t>(lists.size());
  lists.push_back(std::move(list));
  return lists.back();
}

// In place of readers that the thread knows of: what is ordered behind it is behind them.
void RaceDetector::add_to_list(const Visit& visit, std::vector<Reader>& list, int thread,
                               const Reader& added) const {
  for (Reader& reader : list) {
    if (reader.serial != added.serial || (reader.word & kReaderKind) != (added.word & kReaderKind)) continue;
    if (reader.stamp == added.stamp || reader.lanes == added.lanes) {
      reader.stamp = added.stamp;
      reader.lanes |= added.lanes;
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
  list.push_back(added);
}

std::vector<RaceDetector::Earlier> RaceDetector::unknown_readers(const Visit& visit, const ShadowPage& page,
                                                                 uint64_t at, int thread) const {
  std::vector<Earlier> unknown;
  const auto look = [&](uint32_t serial, uint32_t stamp, uint32_t word, uint32_t lanes) {
    if (is_stale(visit, serial, stamp)) return;
    const auto add = [&](int other) { unknown.push_back({serial, operation_of(word), other, false}); };
    const auto whole_warp = [&](int warp) {  // which of its lanes is not known
      if (serial == visit.state->clock.serial() && warp == thread / kWarpLanes) return;
      for (int lane = 0; lane < kWarpLanes; ++lane)
        if (knows(visit, thread, serial, warp * kWarpLanes + lane, stamp)) return;
      add(warp * kWarpLanes);
    };
    if (readers_of(word) == Readers::kWarps && lanes == ~uint32_t{0}) return whole_warp(warp_of_word(word));
    if (readers_of(word) == Readers::kWarps) {
      for (uint32_t left = lanes; left != 0; left &= left - 1) whole_warp(std::countr_zero(left));
      return;
    }
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const int other = warp_of_word(word) * kWarpLanes + std::countr_zero(left);
      if (!knows(visit, thread, serial, other, stamp)) add(other);
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
    if (other >= 0 && other < visit.warp_group->lanes() && visit.done.contains(other)) {
      const uint64_t of_other = (visit.begin + visit.access->offsets[other]) >> visit.shift;
      if (word >= of_other && word < of_other + visit.words_per_lane)
        return visit.equal_values(lane, part, other, static_cast<uint32_t>(word - of_other));
    }
  }
  return visit.leaves_bytes(lane, part);
}

}  // namespace bicrl::races

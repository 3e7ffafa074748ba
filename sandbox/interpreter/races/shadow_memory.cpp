#include "sandbox/interpreter/races/shadow_memory.h"

#include <algorithm>

#include "sandbox/interpreter/ptx/alu/lanes.h"
#include "sandbox/interpreter/ptx/alu/vectorised.h"

namespace bicrl::races {
namespace {

// Copies each word's cells to the words that it becomes.
void spread(const uint32_t (&from)[ShadowPage::kWords], uint64_t first, uint32_t (&to)[ShadowPage::kWords]) {
  for (uint64_t i = 0; i < ShadowPage::kWords; ++i) to[i] = from[first + i / 2];
}

}  // namespace

void ShadowMemory::halve_words() {
  --shift_;
  std::vector<std::unique_ptr<RowPage>> finer((bytes_ >> shift_) / ShadowPage::kWords + 1);
  uint64_t unlimited = ~uint64_t{0};  // what is there may stay there
  for (size_t i = 0; i < pages_.size(); ++i) {
    if (!pages_[i]) continue;
    for (uint64_t row = 0; row < RowPage::kRows; ++row)
      if ((pages_[i]->expanded >> row & 1) == 0) expand(*pages_[i], row, unlimited);
    for (size_t half = 0; half < 2 && 2 * i + half < finer.size(); ++half) {
      finer[2 * i + half] = std::make_unique<RowPage>();
      RowPage& page = *finer[2 * i + half];
      page.cells = std::make_unique<ShadowPage>();
      page.expanded = ~uint32_t{0};
      const uint64_t first = half * ShadowPage::kWords / 2;
      ShadowPage &from = *pages_[i]->cells, &to = *page.cells;
      spread(from.write_serials, first, to.write_serials);
      spread(from.write_stamps, first, to.write_stamps);
      spread(from.writers, first, to.writers);
      spread(from.read_serials, first, to.read_serials);
      spread(from.read_stamps, first, to.read_stamps);
      spread(from.readers, first, to.readers);
      spread(from.lanes, first, to.lanes);
      // Two words must not share a list that only one of them adds to.
      for (uint64_t at = 1; at < ShadowPage::kWords; at += 2) {
        if (to.read_serials[at] == 0 || readers_of(to.readers[at]) != Readers::kList ||
            to.lanes[at] >= lists_.size())
          continue;
        lists_.push_back(std::vector<Reader>(lists_[to.lanes[at]]));
        to.lanes[at] = static_cast<uint32_t>(lists_.size() - 1);
      }
    }
    pages_[i].reset();
  }
  pages_ = std::move(finer);
  repeats_.clear();
}

bool ShadowMemory::expand(RowPage& page, uint64_t row, uint64_t& allowed) {
  if (!page.cells) {
    if (allowed == 0) return false;
    --allowed;
    page.cells = std::make_unique<ShadowPage>();
  }
  page.expanded |= uint32_t{1} << row;
  ShadowPage& cells = *page.cells;
  const auto lane_of = [](const RowCell& cell, uint32_t i) {
    return (kRowWords * (cell.shape >> 8) + i) >> (cell.shape & 0xFF);
  };
  const RowCell &write = page.writes[row], &read = page.reads[row];
  for (uint32_t i = 0; i < kRowWords; ++i) {
    const uint64_t at = row * kRowWords + i;
    cells.write_serials[at] = write.serial;
    cells.write_stamps[at] = write.stamp;
    cells.writers[at] = write.word + lane_of(write, i);
    cells.read_serials[at] = read.serial;
    cells.read_stamps[at] = read.stamp;
    cells.readers[at] = read.word;
    cells.lanes[at] = uint32_t{1} << lane_of(read, i);
  }
  return true;
}

bool access_row(RowPage& page, uint64_t row, const RowCell& cell, bool writes, uint32_t base,
                uint32_t floor) {
  RowCell &write = page.writes[row], &read = page.reads[row];
  const auto warp_of_write = [](const RowCell& c) { return (c.word & kThreadMask) / ptx::kWarpLanes; };
  const auto is_old = [&](const RowCell& earlier) {
    return earlier.serial < base || (earlier.serial == cell.serial && earlier.stamp <= floor);
  };
  const uint32_t warp = writes ? warp_of_write(cell) : cell.word & 31;
  const auto same_lanes = [&](const RowCell& earlier, uint32_t warp_of_earlier) {
    return earlier.serial == cell.serial && earlier.shape == cell.shape && warp_of_earlier == warp;
  };
  if (!is_old(write) && !same_lanes(write, warp_of_write(write))) return false;
  if (!is_old(read) && !same_lanes(read, read.word & 31)) return false;
  if (writes) {
    write = cell;
    read.serial = 0;
  } else {
    read = cell;
  }
  return true;
}

void ShadowMemory::forget_strong() {
  if (strong_.empty()) return;
  strong_.clear();
  strong_parts_.assign(strong_parts_.size(), false);
}

void ShadowMemory::forget_lists() {
  lists_.clear();
  repeats_.clear();
}

BICRL_VECTORISED bool read_row(ShadowPage& page, uint64_t at, const RowAccess& a) {
  const uint32_t* write_serials = page.write_serials + at;
  const uint32_t* write_stamps = page.write_stamps + at;
  uint32_t* read_serials = page.read_serials + at;
  uint32_t* read_stamps = page.read_stamps + at;
  uint32_t* readers = page.readers + at;
  uint32_t* lanes = page.lanes + at;
  uint32_t fresh_write = 0, fresh_read = 0, other_epoch = 0, other_kind = 0;
  const uint32_t kind = readers[0] & kReaderKind;
  for (int i = 0; i < a.words; ++i) {
    const uint32_t old_write =
        (write_serials[i] < a.base ? 1U : 0U) |
        ((write_serials[i] == a.serial ? 1U : 0U) & (write_stamps[i] <= a.floor ? 1U : 0U));
    const uint32_t old_read =
        (read_serials[i] < a.base ? 1U : 0U) |
        ((read_serials[i] == a.serial ? 1U : 0U) & (read_stamps[i] <= a.floor ? 1U : 0U));
    fresh_write |= old_write ^ 1U;
    fresh_read |= old_read ^ 1U;
    other_epoch |= (read_serials[i] ^ a.serial) | (read_stamps[i] ^ a.stamp);
    other_kind |= (readers[i] ^ kind) & kReaderKind;
  }
  if (fresh_write != 0) return false;
  if (fresh_read == 0) {
    for (int i = 0; i < a.words; ++i) {
      read_serials[i] = a.serial;
      read_stamps[i] = a.stamp;
      readers[i] = a.word;
      lanes[i] = 1U << (a.lane + (i >> a.words_per_lane_shift));
    }
    return true;
  }
  if (other_epoch != 0 || other_kind != 0) return false;
  const uint32_t warp = 1U << (a.word & 31);
  if (kind == (a.word & kReaderKind)) {
    for (int i = 0; i < a.words; ++i) lanes[i] |= 1U << (a.lane + (i >> a.words_per_lane_shift));
    return true;
  }
  const auto how = static_cast<Readers>(kind >> 5 & 3);
  if (how == Readers::kWarps) {
    for (int i = 0; i < a.words; ++i) lanes[i] |= warp;
    return true;
  }
  if (how != Readers::kLanes) return false;
  const uint32_t both = warp | 1U << (kind & 31);
  for (int i = 0; i < a.words; ++i) {
    readers[i] = (readers[i] & ~kReaderKind) | static_cast<uint32_t>(Readers::kWarps) << 5;
    lanes[i] = both;
  }
  return true;
}

BICRL_VECTORISED bool write_row(ShadowPage& page, uint64_t at, const RowAccess& a,
                                const uint32_t* unchanged) {
  uint32_t* write_serials = page.write_serials + at;
  uint32_t* write_stamps = page.write_stamps + at;
  uint32_t* writers = page.writers + at;
  uint32_t* read_serials = page.read_serials + at;
  const uint32_t* read_stamps = page.read_stamps + at;
  const uint32_t* readers = page.readers + at;
  const uint32_t* lanes = page.lanes + at;
  const auto warp = static_cast<uint32_t>(a.word & kThreadMask) >> 5;
  uint32_t fresh = 0;
  for (int i = 0; i < a.words; ++i) {
    const auto offset = static_cast<uint32_t>(i >> a.words_per_lane_shift);
    const uint32_t own_write = write_serials[i] == a.serial ? 1U : 0U;
    const uint32_t same_writer = ((writers[i] ^ (a.word + offset)) & kThreadMask) == 0 ? 1U : 0U;
    const uint32_t old_write = (write_serials[i] < a.base ? 1U : 0U) |
                               (own_write & ((write_stamps[i] <= a.floor ? 1U : 0U) | same_writer));
    const uint32_t own_read = read_serials[i] == a.serial ? 1U : 0U;
    const uint32_t same_reader = ((readers[i] & kReaderKind) == warp ? 1U : 0U) &
                                 (lanes[i] == 1U << (static_cast<uint32_t>(a.lane) + offset) ? 1U : 0U);
    const uint32_t old_read = (read_serials[i] < a.base ? 1U : 0U) |
                              (own_read & ((read_stamps[i] <= a.floor ? 1U : 0U) | same_reader));
    fresh |= (old_write & old_read) ^ 1U;
  }
  if (fresh != 0) return false;
  for (int i = 0; i < a.words; ++i) {
    write_serials[i] = a.serial;
    write_stamps[i] = a.stamp;
    writers[i] = (a.word + static_cast<uint32_t>(i >> a.words_per_lane_shift)) | unchanged[i];
    read_serials[i] = 0;
  }
  return true;
}

}  // namespace bicrl::races

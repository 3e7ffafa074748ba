// Shadow memory of a buffer, or of a block's shared memory: the accesses to each word. It holds the last weak
// write, the weak reads since then, and for the few words that have them the strong accesses. A word is 4
// bytes, or 2 or 1 once a smaller access has been seen. Accesses by blocks of earlier launches count as none:
// serial numbers of blocks only grow, and cells with smaller ones than the launch's first are stale. Not
// thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sandbox/interpreter/races/sync_log.h"

namespace bicrl::races {

// The thread and the operation of an access in one word.
constexpr int kOperationShift = 11;
constexpr uint32_t kUnchanged = 1 << 10;  // the write left the bytes as they were
constexpr uint32_t kThreadMask = (1 << 10) - 1;
constexpr uint32_t writer_word(uint32_t operation, int thread) {
  return operation << kOperationShift | static_cast<uint32_t>(thread);
}

// Which readers a cell names.
enum class Readers : uint32_t {
  kLanes,   // of one warp: `lanes` says which
  kWarps,   // of one block, all at one stamp: `lanes` says which
  kBlocks,  // of several blocks; the cell holds the first of them
  kList     // `lanes` is the number of a list
};
constexpr uint32_t kReaderKind = 0xFF;  // of the word: warp, and how
constexpr uint32_t reader_word(uint32_t operation, Readers how, int warp) {
  return operation << kOperationShift | static_cast<uint32_t>(how) << 5 | static_cast<uint32_t>(warp);
}
constexpr Readers readers_of(uint32_t word) { return static_cast<Readers>(word >> 5 & 3); }
constexpr int warp_of_word(uint32_t word) { return static_cast<int>(word & 31); }
constexpr uint32_t operation_of(uint32_t word) { return word >> kOperationShift; }

// Cells word by word.
struct ShadowPage {
  static constexpr uint64_t kWords = 1024;
  uint32_t write_serials[kWords] = {}, write_stamps[kWords] = {}, writers[kWords] = {};
  uint32_t read_serials[kWords] = {}, read_stamps[kWords] = {}, readers[kWords] = {}, lanes[kWords] = {};
};

// What a whole warp did to a row of 32 words at a multiple of 32, lane after lane; almost all of what is done
// to global memory. Its words have cells of their own only once something else is done to one of them.
struct RowCell {
  uint32_t serial = 0, stamp = 0;
  uint32_t word = 0;   // writer_word() of lane 0, or reader_word()
  uint32_t shape = 0;  // see row_shape()
};
constexpr int kRowWords = 32;
// Word i of the row is that of lane (32 * part + i) >> shift, where a lane has 1 << shift words.
constexpr uint32_t row_shape(uint32_t part, int shift) { return part << 8 | static_cast<uint32_t>(shift); }

struct RowPage {
  static constexpr uint64_t kRows = ShadowPage::kWords / kRowWords;
  RowCell writes[kRows], reads[kRows];
  uint32_t expanded = 0;  // rows that are in `cells`
  std::unique_ptr<ShadowPage> cells;
};

struct Reader {
  uint32_t serial = 0, stamp = 0, word = 0, lanes = 0;  // as in a cell
};

struct StrongAccess {
  uint32_t serial = 0, stamp = 0, operation = 0;
  int thread = 0;
  uint32_t version = 0;  // of the cell's log behind a write; the greatest number if there was none
};

struct StrongCell {
  std::vector<StrongAccess> writes, reads;  // not ordered before the last one, as far as they are kept
  LogId log = kNoLog;                       // what has been released through it
  bool turned = false;                      // of the barrier of a grid: the highest bit,
  uint32_t turned_version = 0;              // and what had been released when it turned last
};

class ShadowMemory {
 public:
  explicit ShadowMemory(uint64_t bytes)
      : bytes_(bytes), pages_(bytes / 4 / ShadowPage::kWords + 1), strong_parts_(bytes / kStrongPart + 1) {}

  // Whether the launch has written there.
  void note_write(uint32_t launch) { written_ = launch; }
  bool written_in(uint32_t launch) const { return written_ == launch; }
  uint32_t shift() const { return shift_; }  // a word is 1 << shift bytes
  // Words of at most so many bytes from now on.
  void refine(uint32_t bytes) {
    while (bytes < uint32_t{1} << shift_) halve_words();
  }
  // Cells of words in one page; made of rows if they are some. Null if `allowed` (pages) has run out.
  ShadowPage* page(uint64_t word, uint64_t& allowed, int words = 1) {
    RowPage& page = rows(word);
    const uint64_t first = word % ShadowPage::kWords / kRowWords;
    const uint64_t last = (word % ShadowPage::kWords + static_cast<uint64_t>(words) - 1) / kRowWords;
    for (uint64_t row = first; row <= last; ++row)
      if ((page.expanded >> row & 1) == 0 && !expand(page, row, allowed)) return nullptr;
    return page.cells.get();
  }
  RowPage& rows(uint64_t word) {
    auto& page = pages_[word / ShadowPage::kWords];
    if (!page) page = std::make_unique<RowPage>();
    return *page;
  }
  // By 4 bytes.
  std::unordered_map<uint64_t, StrongCell>& strong() { return strong_; }
  StrongCell& strong_cell(uint64_t byte) {
    strong_parts_[byte / kStrongPart] = true;
    return strong_[byte / 4];
  }
  // Whether a strong access to that word, or near it, has been seen.
  bool has_strong(uint64_t word) const { return strong_parts_[(word << shift_) / kStrongPart]; }
  void forget_strong();
  std::vector<std::vector<Reader>>& lists() { return lists_; }
  // Threads that wrote again what another wrote that they are not ordered with: by word.
  struct Repeat {
    uint32_t serial = 0, stamp = 0, writer = 0;     // of the first write
    std::vector<std::pair<uint32_t, int>> threads;  // block and thread of the others
  };
  std::unordered_map<uint64_t, Repeat>& repeats() { return repeats_; }
  // A launch, or of shared memory a block, begins.
  void forget_lists();

 private:
  void halve_words();
  static bool expand(RowPage& page, uint64_t row, uint64_t& allowed);

  uint64_t bytes_;
  uint32_t shift_ = 2;
  std::vector<std::unique_ptr<RowPage>> pages_;
  static constexpr uint64_t kStrongPart = 256;  // bytes
  std::unordered_map<uint64_t, StrongCell> strong_;
  std::vector<bool> strong_parts_;
  std::vector<std::vector<Reader>> lists_;
  std::unordered_map<uint64_t, Repeat> repeats_;
  uint32_t written_ = 0;  // the last launch that has written there
};

// Whether a whole warp's access of a row was that simple: nothing is there that is not ordered before, but
// for the same lanes' own accesses. If not, nothing was changed.
bool access_row(RowPage& page, uint64_t row, const RowCell& cell, bool writes, uint32_t base, uint32_t floor);

// ---- Rows of words that lanes of one warp access, one after the other; all within one page ----

struct RowAccess {
  uint32_t serial = 0, stamp = 0;  // of the access
  uint32_t base = 0;               // serials below it are stale
  uint32_t floor = 0;              // stamps of the own block up to it are ordered before
  uint32_t word = 0;               // of the first lane: writer_word() or reader_word(kLanes)
  int lane = 0;                    // the first, within its warp
  int words_per_lane_shift = 0;
  int words = 0;
};
// Whether all went the simple way: no write that is not ordered before, and readers of one kind. If not,
// nothing was changed.
bool read_row(ShadowPage& page, uint64_t at, const RowAccess& access);
// Also that there is no reader that is not ordered before, but for the lane itself. `unchanged`: kUnchanged
// or 0 for each word.
bool write_row(ShadowPage& page, uint64_t at, const RowAccess& access, const uint32_t* unchanged);

}  // namespace bicrl::races

// Model of a block's share of the L1 cache: the lines that it loaded last and finds again. The share is the
// same for all blocks and devices, so that counters depend on neither. Not thread-safe.
#pragma once
#include <array>
#include <cstdint>

namespace bicrl {

class L1Share {
 public:
  static constexpr uint64_t kLineBytes = 128;
  static constexpr uint64_t kSets = 64, kLinesPerSet = 4;
  static constexpr uint64_t kBytes =
      kSets * kLinesPerSet * kLineBytes;  // 32 KiB: of 256, if eight blocks are resident

  void clear() { lines_ = {}; }
  // Loads a sector of a buffer; true if it was there. The line that was used longest ago makes room.
  bool load(uint64_t buffer, uint64_t sector) {
    constexpr uint64_t kSectors = kLineBytes / 32;
    const uint64_t line = sector / kSectors;
    const uint64_t tag = (buffer << 44 | line) + 1;
    const auto bit = static_cast<uint8_t>(1U << sector % kSectors);
    Line* set = &lines_[(line + buffer * 7) % kSets * kLinesPerSet];
    uint64_t at = 0;
    while (at < kLinesPerSet && set[at].tag != tag) ++at;
    const bool known = at < kLinesPerSet;
    Line found = known ? set[at] : Line{tag, 0};
    const bool hit = (found.sectors & bit) != 0;
    found.sectors |= bit;
    // The first line is the one used last.
    for (uint64_t i = known ? at : kLinesPerSet - 1; i > 0; --i) set[i] = set[i - 1];
    set[0] = found;
    return hit;
  }

 private:
  struct Line {
    uint64_t tag = 0;  // 0: none
    uint8_t sectors = 0;
  };
  std::array<Line, kSets * kLinesPerSet> lines_{};
};

}  // namespace bicrl

// The race detector's state while it looks at one access. Internal to race_*.cpp.
#pragma once
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>

#include "sandbox/interpreter/ptx/execution/thread_block.h"
#include "sandbox/interpreter/races/race_detector.h"

namespace bicrl::races {

// Of a barrier in shared memory.
struct RaceDetector::Phases {
  LogId log = kNoLog;
  uint32_t operation = 0, stamp = 0;  // of whoever made it
  int thread = 0;
};

// Of a block that is resident.
struct RaceDetector::BlockState {
  struct Barrier {
    ptx::LaneSet waiting[ptx::kMaxWarpGroups];
    std::vector<Knowledge> arrived;  // of those who came and do not wait
    LogId log = kNoLog;              // of what those know who came, unless everybody came
    uint32_t version = 0;            // of the log when the barrier was last complete
    bool continues = false;          // somebody who came knows all that is in the log
  };
  BlockClock clock;
  std::unique_ptr<ShadowMemory> shared;
  std::array<Barrier, ptx::kBarriers> barriers;
  std::unordered_map<uint64_t, Phases> phases;  // by place of a barrier in shared memory
};

// An access of some lanes of a warp group on its way.
struct RaceDetector::Visit {
  ptx::WarpGroup* warp_group = nullptr;  // null: a copy that has landed
  BlockState* state = nullptr;
  const ptx::Operation* op = nullptr;
  uint32_t operation = 0;
  const ptx::LaneAccess* access = nullptr;
  ShadowMemory* memory = nullptr;
  uint64_t key = 0;                 // of the memory, see RacyWords
  uint64_t begin = 0;               // of access->base in the memory, in bytes
  const std::byte* data = nullptr;  // there
  uint32_t base = 0;                // serials below it are stale
  int first_thread = 0;
  bool in_shared = false, writes = false, copies = false;
  uint32_t shift = 2, words_per_lane = 1;
  int words_per_lane_shift = 0;
  ptx::LaneSet done;  // lanes that have been looked at

  // The first byte of what a lane stores in a word; words begin at multiples of elements or the other way.
  const std::byte* stored(int lane, uint32_t byte) const {
    return access->values[byte / access->element_bytes] + static_cast<size_t>(lane) * access->value_stride +
           byte % access->element_bytes;
  }
  bool leaves_bytes(int lane, uint32_t part) const {
    if (access->element_bytes == 0) return false;
    const uint32_t word = 1U << shift, unit = std::min(word, access->element_bytes);
    for (uint32_t i = 0; i < word; i += unit) {
      const uint32_t byte = part * word + i;
      if (memcmp(data + access->offsets[lane] + byte, stored(lane, byte), unit) != 0) return false;
    }
    return true;
  }
  // Whether a warp whose lanes store words in a row leaves all of them as they are; false if they are no
  // words.
  bool leaves_row(int first) const {
    return access->element_bytes == 4 && access->bytes == 4 && access->value_stride == 4 &&
           memcmp(data + access->offsets[first], stored(first, 0), 4 * ptx::kWarpLanes) == 0;
  }
  bool equal_values(int lane, uint32_t part, int other, uint32_t part_of_other) const {
    if (access->element_bytes == 0) return false;
    const uint32_t word = 1U << shift, unit = std::min(word, access->element_bytes);
    for (uint32_t i = 0; i < word; i += unit)
      if (memcmp(stored(lane, part * word + i), stored(other, part_of_other * word + i), unit) != 0)
        return false;
    return true;
  }
};

}  // namespace bicrl::races

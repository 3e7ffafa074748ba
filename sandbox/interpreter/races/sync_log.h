// Logs of the knowledge that threads pass on through locations in memory and through barriers that only some
// threads of a block come to. A release appends what its thread knows to the log of the location; an acquire
// makes the thread know all that the log holds by then. Logs only grow, so that "all of it by then" is a
// number.
//
// An access is named by the serial number of its block, its thread, and its stamp: a counter of the block.
// Not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "sandbox/interpreter/ptx/alu/lanes.h"

namespace bicrl::races {

using LogId = uint32_t;
constexpr LogId kNoLog = ~LogId{0};

// What a thread has acquired: of each log, its first `version` entries.
using Acquired = std::map<LogId, uint32_t>;
void join(Acquired& into, const Acquired& other);

// What a thread knows when it releases: of its block all accesses with stamps up to `floor`, of the lanes of
// its warp those up to `lanes`, and what it has acquired.
struct Knowledge {
  uint32_t serial = 0;
  bool device = true;  // of use to other blocks; if not, to its own block only
  uint32_t floor = 0;
  int warp = 0;
  std::array<uint32_t, ptx::kWarpLanes> lanes{};
  Acquired acquired;
};

class SyncLogs {
 public:
  LogId make();
  void clear();
  uint32_t version(LogId log) const { return logs_[log].version; }
  void append(LogId log, const Knowledge& knowledge);
  // Whether a thread of block `serial_of_reader` that has acquired that knows the access.
  bool know(const Acquired& acquired, uint32_t serial_of_reader, uint32_t serial, int thread,
            uint32_t stamp) const;

 private:
  struct WarpEntry {
    uint32_t version = 0;
    std::array<uint32_t, ptx::kWarpLanes> lanes{};  // greatest so far
  };
  // Of one block and one reach. Both lists ascend by version, and so does what they hold.
  struct BlockEntries {
    std::vector<std::pair<uint32_t, uint32_t>> floors;  // version, floor
    std::unordered_map<int, std::vector<WarpEntry>> warps;
  };
  struct Reference {
    uint32_t version = 0, other_version = 0;
  };
  struct Log {
    uint32_t version = 0;
    std::unordered_map<uint64_t, BlockEntries> blocks;  // by serial * 2 + device
    std::map<std::pair<LogId, uint32_t>, std::vector<Reference>>
        references;  // by log and serial of the thread
  };
  static bool covers(const Log& log, uint64_t key, uint32_t version, int thread, uint32_t stamp);

  std::vector<Log> logs_;
};

}  // namespace bicrl::races

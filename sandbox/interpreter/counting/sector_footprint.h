// Sectors of global memory that the launches of a run have touched, and how long ago. Not thread-safe.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sandbox/cost/launch_counters.h"

namespace bicrl {

class SectorFootprint {
 public:
  // What follows is the next launch's.
  void begin_launch();

  // One buffer's sectors. References stay valid.
  struct Buffer {
    std::vector<uint32_t> read, written, touched;  // by sector: the last launch that did; 0: none
    std::vector<uint32_t> atomics;  // by word: of the launch `atomics_launch`; made when needed
    uint32_t atomics_launch = 0;
    uint64_t number = 0;  // in the order in which buffers came
  };
  // `begin`: the buffer's address, by which it is known.
  Buffer& buffer(uint64_t begin, uint64_t bytes);

  // Notes them in the counters if the launch had not done it before. True if it had not touched the sector.
  bool read(Buffer& buffer, uint64_t sector, LaunchCounters& counters);
  void write(Buffer& buffer, uint64_t sector, LaunchCounters& counters);
  // `count` lanes update the word.
  void update(Buffer& buffer, uint64_t word, uint32_t count, LaunchCounters& counters);

 private:
  bool touch(Buffer& buffer, uint64_t sector);

  std::unordered_map<uint64_t, Buffer> buffers_;
  std::vector<uint64_t> touched_before_ = {
      0};  // by launch: sectors that all launches before it touched, together
  uint64_t touched_ = 0;
  uint32_t launch_ = 0;
};

}  // namespace bicrl

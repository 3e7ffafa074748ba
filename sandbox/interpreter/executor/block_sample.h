// Sample of the blocks that are run of a launch that is too large to be run in full. Pure functions.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/cost/launch_counters.h"

namespace bicrl {

struct BlockSample {
  uint64_t seed = 0;             // secret
  uint64_t blocks = 0;           // of each launch, spread over its grid; two further ones come with them
  std::vector<uint64_t> beyond;  // by launch of the trace: a block behind the first so many is among them
  // By leaf, a test input of a smaller size, of which touched pages of inputs are made; none: of zeros.
  std::vector<std::string_view> inputs = {};
};

// What one of them did.
struct SampledBlock {
  uint64_t number = 0;
  uint64_t executed = 0, load_sectors = 0, store_sectors = 0, shared_wavefronts = 0;
};

// A launch; all of a sample stand in the order of the trace.
struct SampledLaunch {
  std::vector<std::pair<uint32_t, uint32_t>> parameters;  // begin and bytes of each among the arguments
  std::vector<SampledBlock> blocks;
};

// Numbers of blocks of the trace's launch number `launch`, ascending: one from each of equal parts of the
// grid, the last, and one behind sample.beyond[launch].
std::vector<uint64_t> sampled_blocks(const BlockSample& sample, uint64_t launch, uint64_t blocks);

SampledBlock sampled_block(uint64_t number, const LaunchCounters& counters);

}  // namespace bicrl

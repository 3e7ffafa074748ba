#include "sandbox/interpreter/executor/block_sample.h"

#include <algorithm>

#include "common/rng.h"

namespace bicrl {

std::vector<uint64_t> sampled_blocks(const BlockSample& sample, uint64_t launch, uint64_t blocks) {
  std::vector<uint64_t> numbers{blocks - 1};
  const uint64_t parts = std::min(sample.blocks, blocks);
  for (uint64_t part = 0; part < parts; ++part) {
    const uint64_t begin = blocks * part / parts, end = blocks * (part + 1) / parts;
    numbers.push_back(begin + mix_key({sample.seed, launch, part}) % (end - begin));
  }
  const uint64_t beyond = launch < sample.beyond.size() ? sample.beyond[launch] : 0;
  // Near them: a program may count on samples that are farther away.
  if (beyond > 0 && beyond < blocks)
    numbers.push_back(beyond + mix_key({sample.seed, launch, parts}) % std::min(beyond, blocks - beyond));
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return numbers;
}

SampledBlock sampled_block(uint64_t number, const LaunchCounters& counters) {
  return {number, counters.executed, counters.load_sectors, counters.store_sectors,
          counters.shared_wavefronts};
}

}  // namespace bicrl

#include "rollout/bench/drawn_responses.h"

#include <algorithm>
#include <cmath>

#include "common/rng.h"

namespace bicrl {

int64_t DrawnResponses::tokens(uint64_t request_key) const {
  RandomStream random(mix_key(request_key, "length of the response"));
  return std::max<int64_t>(1, std::llround(median_tokens * std::exp(kSpread * random.normal())));
}

int64_t DrawnResponses::steps_of_block(uint64_t request_key, int64_t block_start, int64_t block_size) const {
  if (block_size == 1) return 1;
  const double more = (steps_per_block - 1) / static_cast<double>(block_size - 1);
  RandomStream random(
      mix_key({mix_key(request_key, "steps of a block"), static_cast<uint64_t>(block_start)}));
  int64_t steps = 1;
  for (int64_t i = 1; i < block_size; ++i) steps += random.uniform() < more;
  return steps;
}

}  // namespace bicrl

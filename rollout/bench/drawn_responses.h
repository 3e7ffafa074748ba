// For benches alone: random weights neither end a response nor become sure of a token, so that a bench of
// whole steps draws both. Pure functions of a request's key, which is of step, group and sample: draws do not
// depend on the number of ranks, nor on what is decoded beside a request.
#pragma once
#include <cstdint>

namespace bicrl {

struct DrawnResponses {
  // Of the lengths' log-normal distribution. With the spread below, 2 % are four times as long or longer.
  double median_tokens = 1000;
  // Denoise steps of a block, on average, where confidence decides how many tokens a step accepts. Strategies
  // that accept by quota keep theirs.
  double steps_per_block = 2;

  static constexpr double kSpread = 0.7;  // standard deviation of the logarithm

  // Tokens at which the response ends; at least 1. The token limit may end it before.
  int64_t tokens(uint64_t request_key) const;
  // Denoise steps of the block at this position, from 1 to block_size: binomial around the mean.
  int64_t steps_of_block(uint64_t request_key, int64_t block_start, int64_t block_size) const;
};

}  // namespace bicrl

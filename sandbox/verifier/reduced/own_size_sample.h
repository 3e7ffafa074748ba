// Compares blocks that were run at the task's own size with those of reduced sizes, and the numbers that
// launches pass there. Pure functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/interpreter/executor/block_sample.h"
#include "sandbox/verifier/reduced/extrapolation.h"

namespace bicrl {

// Of each launch, the most blocks that it has at a counted size.
std::vector<uint64_t> most_blocks(const std::vector<CountedSize>& counted);

// Why the program does something else at its own size; empty if the sample shows nothing of the kind.
// `counted`: reduced sizes that extrapolate() accepts, so all launch the same kernels. A block of the sample
// must do about as much as blocks do there in the mean, but for the last one, which may do less.
std::string difference_at_own_size(const Trace& own, const std::vector<CountedSize>& counted,
                                   const std::vector<SampledLaunch>& sampled);

// "27 of 12,000": blocks that ran, of those that the sampled launches have.
std::string sampled_share(const Trace& own, const std::vector<SampledLaunch>& sampled);

}  // namespace bicrl

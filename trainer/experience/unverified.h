// Responses without a verdict, and how many of them a run tolerates. Pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bicrl {

// Of one rank: responses for which a verdict was asked, and those of them that have none. Others say nothing
// of the verifier, and would hide one that is dead: with 600 of 1,024 responses truncated and masked, no more
// than 424 can be unverified.
struct UnverifiedCount {
  int64_t responses = 0;
  int64_t unverified = 0;
};

// Why a run should not go on with these responses, or empty: the share without a verdict reaches `limit`,
// over all ranks, or on one rank. A verifier that only one rank cannot reach would else go unnoticed for
// ever, as that rank's responses are a small share of all. A rank with fewer than 8 responses is not looked
// at alone. No share reaches a limit of 1 but the whole.
std::string unverified_problem(const std::vector<UnverifiedCount>& ranks, double limit);

}  // namespace bicrl

// Runs of a pack's rows by token, over which the embedding's gradient is summed (EmbeddingBackward). Made on
// the host, where the tokens are known. Plain values and a pure function; thread-safe.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace bicrl::gpu {

struct EmbeddingRuns {
  std::vector<int32_t> rows;        // ordered by token, rows of one token ascending
  std::vector<int32_t> run_begin;   // [runs + 1] in `rows`
  std::vector<int32_t> run_token;   // [runs]
  std::vector<int32_t> run_slot;    // [runs] place of the run's sum; -1: its token has no other run
  std::vector<int32_t> long_begin;  // [long tokens + 1] places
  std::vector<int32_t> long_token;  // tokens with several runs
  int64_t slots = 0;
};
EmbeddingRuns embedding_runs(std::span<const int64_t> tokens);

}  // namespace bicrl::gpu

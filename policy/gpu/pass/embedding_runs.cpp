#include "policy/gpu/pass/embedding_runs.h"

#include <algorithm>
#include <numeric>

#include "policy/gpu/pass/pass_kernels.h"

namespace bicrl::gpu {

EmbeddingRuns embedding_runs(std::span<const int64_t> tokens) {
  EmbeddingRuns runs;
  runs.rows.resize(tokens.size());
  std::iota(runs.rows.begin(), runs.rows.end(), 0);
  const auto token_of = [&](int32_t row) { return tokens[static_cast<size_t>(row)]; };
  std::stable_sort(runs.rows.begin(), runs.rows.end(),
                   [&](int32_t a, int32_t b) { return token_of(a) < token_of(b); });
  const auto count = static_cast<int64_t>(tokens.size());
  runs.run_begin.push_back(0);
  runs.long_begin.push_back(0);
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    const int64_t token = token_of(runs.rows[static_cast<size_t>(begin)]);
    for (end = begin; end < count && token_of(runs.rows[static_cast<size_t>(end)]) == token;) ++end;
    const bool is_long = end - begin > EmbeddingBackward::kRunRows;
    for (int64_t first = begin; first < end; first += EmbeddingBackward::kRunRows) {
      runs.run_begin.push_back(static_cast<int32_t>(std::min(first + EmbeddingBackward::kRunRows, end)));
      runs.run_token.push_back(static_cast<int32_t>(token));
      runs.run_slot.push_back(is_long ? static_cast<int32_t>(runs.slots++) : -1);
    }
    if (!is_long) continue;
    runs.long_token.push_back(static_cast<int32_t>(token));
    runs.long_begin.push_back(static_cast<int32_t>(runs.slots));
  }
  return runs;
}

}  // namespace bicrl::gpu

// The runs of query rows that see a tile of keys, one after the other, and which of the tile's keys each of
// their rows sees.
#pragma once
#include "policy/gpu/pack_attention/pack_gradients.cuh"

namespace bicrl::gpu {

// Goes over the steps of a task.
class KeyWalk {
 public:
  __device__ KeyWalk(const PackTables& tables, const KeyTask& task)
      : tables_(tables), use_(task.first_use), within_(task.skipped), left_(task.steps) {}
  __device__ bool done() const { return left_ == 0; }
  __device__ const KeyUse& use() const { return tables_.key_uses[use_]; }
  __device__ QueryRun run() const { return tables_.runs[use().first_run + within_]; }
  __device__ void advance() {
    --left_;
    if (++within_ == use().runs) {
      ++use_;
      within_ = 0;
    }
  }

 private:
  const PackTables& tables_;
  int use_, within_, left_;
};

// How the rows of the run see the keys [row, row + 64) of a use, of which those from `end` on are not the
// tile's.
__device__ inline StepKind kind_of_step(const PackArguments& a, const KeyUse& use, const QueryRun& run,
                                        int row, int end) {
  if (row >= end) return kUnseen;
  if (use.is_own_block) {
    const int first = row & -a.block_size, last = (end - 1) | (a.block_size - 1);
    return run.first_row <= last && run.first_row + run.rows > first ? kPartlySeen : kUnseen;
  }
  const int first = max(row, use.begin), last = min(min(row + kChunkKeys, end), use.end) - 1;
  if (first > last || run.largest_limit <= first - use.base) return kUnseen;
  const bool all = use.begin <= row && row + kChunkKeys <= use.end && run.rows == a.run_rows &&
                   run.least_limit >= row + kChunkKeys - use.base;
  return all ? kSeen : kPartlySeen;
}

// Which query rows see a key: those of a context whose limit is larger than its position, or those of its
// block. Of a key that is none of the use's there are none. Without branches, as lanes would part.
class KeyView {
 public:
  __device__ KeyView(const KeyUse& use, int row, int block_size) {
    const bool in_use = (row >= use.begin) & (row < use.end);
    first_ = use.is_own_block ? row & -block_size : row - use.base + 1;
    count_ = use.is_own_block ? 1u : in_use ? 1u << 31 : 0u;
  }
  // trait: the first row of a query's block, or its limit.
  __device__ bool is_seen_by(int trait) const { return static_cast<unsigned>(trait - first_) < count_; }

 private:
  int first_;
  unsigned count_;
};

// Where product rows are keys and columns a run's product rows: scores of what is not seen, and of columns
// behind the run's last one, never were. limits[row in the run].
template <class Limits>
__device__ inline void mask_key_scores(const PackArguments& a, const KeyUse& use, const QueryRun& run,
                                       const int (&key_row)[2], const Limits& limits,
                                       float (&score)[kChunkEights][4]) {
  const KeyView views[2] = {{use, key_row[0], a.block_size}, {use, key_row[1], a.block_size}};
  const bool is_own_block = use.is_own_block != 0;
  const int rows = run.rows, first_row = run.first_row;
  unsigned seen = 0;  // a bit for each of this thread's scores
#pragma unroll 4
  for (int pair = 0; pair < 2 * kChunkEights; ++pair) {
    const int row = a.row_in_run(pair / 2 * 8 + threadIdx.x % 4 * 2 + pair % 2), there = min(row, rows - 1);
    const int limit = limits[there], trait = is_own_block ? (first_row + there) & -a.block_size : limit;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      seen |= static_cast<unsigned>(views[i].is_seen_by(trait) & (row < rows))
              << (pair / 2 * 4 + i * 2 + pair % 2);
  }
#pragma unroll
  for (int n = 0; n < kChunkEights; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if ((seen & 1u << (n * 4 + i)) == 0) score[n][i] = kMasked;
}

}  // namespace bicrl::gpu

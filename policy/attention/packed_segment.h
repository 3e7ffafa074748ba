// The rows of a pack: which of them belong together, and which keys each of them sees. Every block of b rows,
// clean or noisy, sees the clean positions before its own block and its own b rows. Plain values and pure
// functions, free of torch; thread-safe.
#pragma once
#include <cstdint>
#include <vector>

namespace bicrl {

// Contiguous rows of the pack that belong together: a prompt, or a response that continues one. All lengths
// are multiples of the block size. The rows are, in order: clean_rows tokens at positions prefix_rows...,
// then one block of rows for every entry of noisy_blocks.
struct PackedSegment {
  int64_t prefix_begin = 0;  // first row of the shared clean prefix (positions 0 .. prefix_rows)
  int64_t prefix_rows = 0;   // 0 if the segment continues nothing
  int64_t begin = 0;         // first row of the segment
  int64_t clean_rows = 0;
  std::vector<int64_t>
      noisy_blocks;  // absolute block index; its clean context must lie in prefix and clean rows

  int64_t rows(int64_t block_size) const {
    return clean_rows + static_cast<int64_t>(noisy_blocks.size()) * block_size;
  }
};

// For every block of the segment's rows: how many clean positions before its own block it sees.
std::vector<int64_t> context_limits(const PackedSegment& segment, int64_t block_size);

// Pairs of a query row and a key row that the mask lets through. FLOPs of attention are 4 * pairs * heads *
// head_dim forward, and 2.5 times that backward.
int64_t attention_pairs(const std::vector<PackedSegment>& segments, int64_t block_size);

// Throws Error unless the segments tile the rows [0, rows) and each has the context that its blocks name.
void check_segments(const std::vector<PackedSegment>& segments, int64_t rows, int64_t block_size);

}  // namespace bicrl

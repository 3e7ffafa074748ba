#include "policy/attention/packed_segment.h"

#include "common/error.h"

namespace bicrl {

std::vector<int64_t> context_limits(const PackedSegment& segment, int64_t block_size) {
  std::vector<int64_t> limits;
  limits.reserve(static_cast<size_t>(segment.rows(block_size) / block_size));
  for (int64_t row = 0; row < segment.clean_rows; row += block_size)
    limits.push_back(segment.prefix_rows + row);
  for (int64_t block : segment.noisy_blocks) limits.push_back(block * block_size);
  return limits;
}

int64_t attention_pairs(const std::vector<PackedSegment>& segments, int64_t block_size) {
  int64_t pairs = 0;
  for (const PackedSegment& segment : segments)
    for (int64_t limit : context_limits(segment, block_size)) pairs += (limit + block_size) * block_size;
  return pairs;
}

void check_segments(const std::vector<PackedSegment>& segments, int64_t rows, int64_t block_size) {
  int64_t next = 0;
  for (const auto& s : segments) {
    BICRL_CHECK(s.begin == next, "segment starts at row ", s.begin, ", expected ", next);
    BICRL_CHECK(s.prefix_rows % block_size == 0 && s.clean_rows % block_size == 0,
                "ragged block in a segment");
    BICRL_CHECK(s.prefix_begin + s.prefix_rows <= s.begin || s.prefix_rows == 0,
                "prefix must precede its user");
    for (int64_t block : s.noisy_blocks) {
      BICRL_CHECK(block >= 0 && block * block_size <= s.prefix_rows + s.clean_rows, "noisy block ", block,
                  " needs more context than the segment has");
    }
    next += s.rows(block_size);
  }
  BICRL_CHECK(next == rows, "segments cover ", next, " of ", rows, " rows");
}

}  // namespace bicrl

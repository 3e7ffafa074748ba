// A pack of groups with its mask, written from the definition of the layout alone.
#pragma once
#include <ATen/ATen.h>

#include <vector>

#include "common/rng.h"
#include "policy/attention/packed_segment.h"

namespace bicrl::testing {

struct PackRow {
  int64_t group = 0, segment = 0, position = 0, noisy = -1;  // noisy: index of the noisy block in its segment
};

// Three groups: a prompt of at most so many blocks, 1 to 4 responses that have as many.
struct RandomPack {
  int64_t block_size;
  std::vector<PackedSegment> segments;
  std::vector<PackRow> rows;

  explicit RandomPack(uint64_t key, int64_t rows_of_block = 4, uint64_t most_blocks = 5)
      : block_size(rows_of_block) {
    RandomStream random(key);
    for (int64_t group = 0; group < 3; ++group) add_group(group, random, most_blocks);
  }

  void add_group(int64_t group, RandomStream& random, uint64_t most_blocks) {
    const int64_t prompt_begin = static_cast<int64_t>(rows.size());
    const int64_t prompt_blocks = static_cast<int64_t>(random.below(most_blocks + 1));
    if (prompt_blocks > 0) add_segment(group, 0, 0, prompt_begin, prompt_blocks, {});
    const int64_t responses = 1 + static_cast<int64_t>(random.below(4));
    for (int64_t i = 0; i < responses; ++i) {
      const int64_t clean_blocks = static_cast<int64_t>(random.below(most_blocks));
      std::vector<int64_t> noisy;
      for (int64_t j = 0; j <= clean_blocks; ++j) {
        for (uint64_t n = random.below(3); n > 0; --n) noisy.push_back(prompt_blocks + j);
      }
      if (noisy.empty()) noisy.push_back(prompt_blocks + clean_blocks);
      add_segment(group, prompt_blocks, prompt_begin, static_cast<int64_t>(rows.size()), clean_blocks, noisy);
    }
  }

  void add_segment(int64_t group, int64_t prefix_blocks, int64_t prefix_begin, int64_t begin,
                   int64_t clean_blocks, const std::vector<int64_t>& noisy) {
    const auto id = static_cast<int64_t>(segments.size());
    segments.push_back({prefix_begin, prefix_blocks * block_size, begin, clean_blocks * block_size, noisy});
    for (int64_t i = 0; i < clean_blocks * block_size; ++i)
      rows.push_back({group, id, prefix_blocks * block_size + i, -1});
    for (size_t n = 0; n < noisy.size(); ++n) {
      for (int64_t i = 0; i < block_size; ++i)
        rows.push_back({group, id, noisy[n] * block_size + i, static_cast<int64_t>(n)});
    }
  }

  bool sees(const PackRow& query, const PackRow& key) const {
    if (query.group != key.group) return false;
    const bool same_segment = query.segment == key.segment;
    const bool key_is_prompt =
        segments[key.segment].prefix_rows == 0 && segments[key.segment].noisy_blocks.empty();
    if (key.noisy >= 0) return same_segment && query.noisy == key.noisy;
    if (!same_segment && !key_is_prompt) return false;
    const int64_t block = query.position / block_size;
    return key.position < (query.noisy >= 0 ? block * block_size : (block + 1) * block_size);
  }

  at::Tensor mask() const {
    const auto count = static_cast<int64_t>(rows.size());
    at::Tensor mask = at::zeros({count, count}, at::kBool);
    auto cells = mask.accessor<bool, 2>();
    for (int64_t q = 0; q < count; ++q) {
      for (int64_t k = 0; k < count; ++k) cells[q][k] = sees(rows[q], rows[k]);
    }
    return mask;
  }
};

}  // namespace bicrl::testing

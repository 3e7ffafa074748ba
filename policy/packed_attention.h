// Block-diffusion attention over a pack of ragged sequences, without padding between them and without a mask
// over the pack. Every block of b rows, clean or noisy, sees the clean positions before its own block and its
// own b rows; so one key limit per block describes the whole mask.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/attention.h"

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

struct PackedAttentionPlan;

// Differentiable once; works in fp32, fp64 and (scores in fp32) bf16 on any device. Immutable after
// construction: may serve several forwards and backwards of the same pack.
class PackedAttention : public AttentionContext {
 public:
  // The segments must tile the rows [0, tokens). Throws Error if they do not.
  PackedAttention(const std::vector<PackedSegment>& segments, int64_t tokens, int64_t block_size,
                  at::Device device);
  at::Tensor attend(int64_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;

 private:
  std::shared_ptr<const PackedAttentionPlan> plan_;  // shared with the graph, whose backward may run later
};

}  // namespace bicrl

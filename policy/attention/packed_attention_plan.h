// Bucketed layout of a pack's attention: segments of similar shape share a bucket, whose rows attend to their
// clean context in one batched product. For packed_attention.cpp, and for estimates of how large its tensors
// become (trainer/update/memory/pass_memory.h). Plain values and pure functions; thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/attention/packed_attention.h"

namespace bicrl {

// Segments of similar shape whose rows meet their clean context in one batched product.
struct AttentionBucket {
  int64_t segments = 0;
  int64_t query_rows = 0;  // per segment, padded
  int64_t key_rows = 0;    // per segment, padded
  int64_t query_slot = 0;  // first row of this bucket among all buckets' query rows
  int64_t key_slot = 0;
  at::Tensor query_index;  // [segments * query_rows] row of the pack
  at::Tensor key_index;    // [segments * key_rows] row of the pack
  at::Tensor masked_keys;  // [segments, 1, 1, query_rows / b, 1, key_rows] bool: at or past the block's limit
};

// Rows of a shared prefix that a segment reads: its part of the key gradient is added back there.
struct PrefixUse {
  int64_t key_slot = 0;
  int64_t prefix_begin = 0;
  int64_t rows = 0;
};

struct PackedAttentionPlan {
  int64_t tokens = 0;
  int64_t block_size = 0;
  std::vector<AttentionBucket> buckets;
  std::vector<PrefixUse> prefix_uses;
  int64_t query_slots = 0;
  int64_t key_slots = 0;
  at::Tensor query_slot_of_row;  // [tokens]
  at::Tensor key_slot_of_row;    // [tokens]; key_slots if the row is no key of its own segment
};

// The segments must tile the rows [0, tokens). Throws Error if they do not.
PackedAttentionPlan plan_attention(const std::vector<PackedSegment>& segments, int64_t tokens,
                                   int64_t block_size, at::Device device);

// Sizes of such a plan's tensors, without making any.
struct AttentionExtent {
  struct Bucket {
    int64_t query_rows = 0, key_rows = 0;  // of all of its segments, padded
    int64_t scores = 0;                    // of a query head
  };
  int64_t query_slots = 0, key_slots = 0;  // of all buckets
  int64_t mask_bytes = 0;
  std::vector<Bucket> buckets;
};
AttentionExtent attention_extent(const std::vector<PackedSegment>& segments, int64_t block_size);

// What PackedAttention takes for a pack of that extent.
AttentionMemory packed_attention_memory(const AttentionExtent& extent, int64_t rows,
                                        const AttentionShape& shape);

}  // namespace bicrl

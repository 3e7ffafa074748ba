// The same packs by torch's operators (policy/attention/packed_attention.h), for
// bench/attention/pack_attention.cpp.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "policy/attention/packed_segment.h"

namespace bicrl {

// Passes over random heads in bf16.
struct OperatorPasses {
  std::function<void()> forward, backward;
};
OperatorPasses operator_passes(const std::vector<PackedSegment>& segments, int64_t rows, int64_t heads,
                               int64_t kv_heads, int64_t head_dim, int64_t block_size);

}  // namespace bicrl

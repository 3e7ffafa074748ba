#include "policy/attention/packed_attention_plan.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "common/error.h"

namespace bicrl {
namespace {

// Scores held at once; bounds the memory of a bucket (fp32: 64 MiB a head).
constexpr int64_t kScoresPerBucket = int64_t{1} << 24;
// Segments of unlike length share a bucket as long as the padded area stays below this multiple of the true
// one.
constexpr double kPaddingTolerance = 1.25;
constexpr int64_t kIndexBytes = sizeof(int64_t);

struct Shape {
  const PackedSegment* segment = nullptr;
  int64_t queries = 0;
  int64_t keys = 0;  // the largest key limit of any row
};

Shape shape_of(const PackedSegment& segment, int64_t block_size) {
  const auto limits = context_limits(segment, block_size);
  const int64_t keys = limits.empty() ? 0 : *std::max_element(limits.begin(), limits.end());
  return {&segment, segment.rows(block_size), keys};
}

std::vector<std::vector<Shape>> bucketed(const std::vector<PackedSegment>& segments, int64_t block_size) {
  std::vector<Shape> shapes;
  for (const auto& segment : segments) shapes.push_back(shape_of(segment, block_size));
  std::stable_sort(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) {
    return a.keys != b.keys ? a.keys > b.keys : a.queries > b.queries;
  });
  std::vector<std::vector<Shape>> buckets;
  int64_t queries = 0, keys = 0, area = 0;
  for (const Shape& shape : shapes) {
    const int64_t new_queries = std::max(queries, shape.queries);
    const int64_t new_keys = std::max(keys, shape.keys);
    const int64_t new_area = area + shape.queries * (shape.keys + block_size);
    const int64_t count = buckets.empty() ? 0 : static_cast<int64_t>(buckets.back().size());
    const int64_t padded = (count + 1) * new_queries * (new_keys + block_size);
    const bool fits = count > 0 && padded <= kScoresPerBucket && padded <= kPaddingTolerance * new_area;
    if (!fits) {
      buckets.emplace_back();
      queries = keys = area = 0;
    }
    buckets.back().push_back(shape);
    queries = std::max(queries, shape.queries);
    keys = std::max(keys, shape.keys);
    area += shape.queries * (shape.keys + block_size);
  }
  return buckets;
}

at::Tensor to_device(const std::vector<int64_t>& values, at::Device device) {
  return at::tensor(values, at::TensorOptions().dtype(at::kLong)).to(device);
}

// Fills one bucket and the slots of its rows.
AttentionBucket make_bucket(const std::vector<Shape>& shapes, PackedAttentionPlan& plan,
                            std::vector<int64_t>& query_slot_of_row, std::vector<int64_t>& key_slot_of_row,
                            at::Device device) {
  AttentionBucket bucket;
  bucket.segments = static_cast<int64_t>(shapes.size());
  for (const Shape& shape : shapes) {
    bucket.query_rows = std::max(bucket.query_rows, shape.queries);
    bucket.key_rows = std::max(bucket.key_rows, shape.keys);
  }
  bucket.query_slot = plan.query_slots;
  bucket.key_slot = plan.key_slots;
  // Padding rows repeat row 0; their limit of 0 masks every key, and their results are never read.
  std::vector<int64_t> query_index(bucket.segments * bucket.query_rows, 0);
  std::vector<int64_t> key_index(bucket.segments * bucket.key_rows, 0);
  std::vector<int64_t> limits(bucket.segments * (bucket.query_rows / plan.block_size), 0);
  for (int64_t i = 0; i < bucket.segments; ++i) {
    const PackedSegment& s = *shapes[i].segment;
    for (int64_t row = 0; row < shapes[i].queries; ++row) {
      query_index[i * bucket.query_rows + row] = s.begin + row;
      query_slot_of_row[s.begin + row] = bucket.query_slot + i * bucket.query_rows + row;
    }
    const int64_t key_base = i * bucket.key_rows;
    const int64_t own_keys = std::max<int64_t>(shapes[i].keys - s.prefix_rows, 0);
    const int64_t prefix_keys = shapes[i].keys - own_keys;
    for (int64_t row = 0; row < prefix_keys; ++row) key_index[key_base + row] = s.prefix_begin + row;
    for (int64_t row = 0; row < own_keys; ++row) {
      key_index[key_base + prefix_keys + row] = s.begin + row;
      key_slot_of_row[s.begin + row] = bucket.key_slot + key_base + prefix_keys + row;
    }
    if (prefix_keys > 0)
      plan.prefix_uses.push_back({bucket.key_slot + key_base, s.prefix_begin, prefix_keys});
    const auto segment_limits = context_limits(s, plan.block_size);
    std::copy(segment_limits.begin(), segment_limits.end(),
              limits.begin() + i * (bucket.query_rows / plan.block_size));
  }
  bucket.query_index = to_device(query_index, device);
  bucket.key_index = to_device(key_index, device);
  const auto limit = to_device(limits, device).view({bucket.segments, 1, 1, -1, 1, 1});
  bucket.masked_keys = at::arange(bucket.key_rows, limit.options()).ge(limit);
  plan.query_slots += bucket.segments * bucket.query_rows;
  plan.key_slots += bucket.segments * bucket.key_rows;
  return bucket;
}

}  // namespace

PackedAttentionPlan plan_attention(const std::vector<PackedSegment>& segments, int64_t tokens,
                                   int64_t block_size, at::Device device) {
  check_segments(segments, tokens, block_size);
  PackedAttentionPlan plan;
  plan.tokens = tokens;
  plan.block_size = block_size;
  std::vector<int64_t> query_slot_of_row(tokens, -1), key_slot_of_row(tokens, -1);
  for (const auto& shapes : bucketed(segments, block_size))
    plan.buckets.push_back(make_bucket(shapes, plan, query_slot_of_row, key_slot_of_row, device));
  for (auto& slot : key_slot_of_row) {
    if (slot < 0) slot = plan.key_slots;
  }
  plan.query_slot_of_row = to_device(query_slot_of_row, device);
  plan.key_slot_of_row = to_device(key_slot_of_row, device);
  return plan;
}

AttentionExtent attention_extent(const std::vector<PackedSegment>& segments, int64_t block_size) {
  AttentionExtent extent;
  for (const auto& shapes : bucketed(segments, block_size)) {
    int64_t queries = 0, keys = 0;
    for (const Shape& shape : shapes) {
      queries = std::max(queries, shape.queries);
      keys = std::max(keys, shape.keys);
    }
    const auto count = static_cast<int64_t>(shapes.size());
    extent.buckets.push_back({count * queries, count * keys, count * queries * keys});
    extent.query_slots += count * queries;
    extent.key_slots += count * keys;
    extent.mask_bytes += count * (queries / block_size) * keys;
  }
  return extent;
}

AttentionMemory packed_attention_memory(const AttentionExtent& extent, int64_t rows,
                                        const AttentionShape& shape) {
  const int64_t width = c10::elementSize(shape.dtype) == sizeof(double) ? sizeof(double) : sizeof(float);
  const bool rounded = c10::elementSize(shape.dtype) < sizeof(float);
  const int64_t queries = shape.heads * shape.head_dim, keys = shape.kv_heads * shape.head_dim;
  // Bytes of one unrounded [slots, columns].
  const auto wide = [&](int64_t slots, int64_t columns) { return slots * columns * width; };
  AttentionMemory memory;
  memory.plan_bytes = extent.mask_bytes + (extent.query_slots + extent.key_slots + 2 * rows) * kIndexBytes;
  memory.kept_bytes = wide(rows, queries + shape.heads) +
                      (rounded ? rows * queries * static_cast<int64_t>(c10::elementSize(shape.dtype)) : 0);
  int64_t forward = 0, backward = 0;
  for (const AttentionExtent::Bucket& b : extent.buckets) {
    forward = std::max(
        forward, wide(b.query_rows, 2 * queries) + wide(b.key_rows, 2 * keys) + wide(b.scores, shape.heads));
    backward = std::max(backward, wide(b.query_rows, 3 * queries) + wide(b.key_rows, 4 * keys) +
                                      wide(2 * b.scores, shape.heads));
  }
  // The scaled queries, and what is rounded once more as it is not.
  const int64_t copies = wide(rows, queries) + (rounded ? wide(rows, 2 * keys) : 0);
  memory.forward_bytes = copies + wide(extent.query_slots, queries + shape.heads) +
                         std::max(forward, wide(rows, 3 * queries) + wide(rows, 2 * keys));
  const int64_t own_block = wide(rows, 4 * queries) + wide(rows, 4 * keys);
  memory.backward_bytes = copies + (rounded ? wide(rows, 2 * queries + 2 * keys) : 0) +
                          wide(rows, 3 * shape.heads) + wide(extent.query_slots, queries) +
                          wide(2 * extent.key_slots, keys) + std::max(backward, own_block);
  return memory;
}

}  // namespace bicrl

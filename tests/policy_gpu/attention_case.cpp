#include "tests/policy_gpu/attention_case.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "policy/gpu/gpu_kernels.h"

namespace bicrl::testing {

float AttentionCase::scale() const { return 1.0f / std::sqrt(static_cast<float>(shape.head_dim)); }

// In fp64, key by key in the order of positions.
at::Tensor AttentionCase::attend_row(const AttentionPlan& plan, size_t segment, int64_t row) const {
  std::vector<int64_t> keys;
  const auto add = [&](const int32_t* first_page, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      keys.push_back(first_page[i / plan.page_tokens] * plan.page_tokens + i % plan.page_tokens);
  };
  const int64_t prompt_tokens = plan.prompt_tokens_of(static_cast<int64_t>(segment));
  if (const int32_t prompt = plan.segment_prompt[segment]; prompt >= 0)
    add(&plan.prompt_pages[static_cast<size_t>(plan.first_prompt_pages[static_cast<size_t>(prompt)])],
        prompt_tokens);
  add(&plan.pages[static_cast<size_t>(plan.first_pages[segment])],
      plan.key_limits[static_cast<size_t>(row)] - prompt_tokens);
  const at::Tensor seen = pool.index_select(0, at::tensor(keys, at::kLong)).to(at::kDouble);
  const int64_t group = shape.heads / shape.kv_heads;
  const at::Tensor queries = q[row].to(at::kDouble).view({shape.kv_heads, group, shape.head_dim});
  const at::Tensor scores = at::einsum("hgd,khd->hgk", {queries, seen.select(1, 0)}) * scale();
  return at::einsum("hgk,khd->hgd", {scores.softmax(-1), seen.select(1, 1)})
      .reshape({shape.heads, shape.head_dim});
}

AttentionCase::AttentionCase(const AttentionShape& its_shape) : shape(its_shape) {
  PolicyConfig config;
  config.layers = 1;
  config.heads = shape.heads;
  config.kv_heads = shape.kv_heads;
  config.head_dim = shape.head_dim;
  config.block_size = shape.block_size;
  const int64_t b = shape.block_size;
  KvCache cache(config, 1200, at::kCPU, at::kBFloat16);
  StepBuffer buffer(at::kCPU);
  AttentionPlanner planner(b, 2048, cache, buffer);
  buffer.allocate();

  const auto stored = [&](KvCache::SlotId slot, int64_t tokens) {
    if (tokens > 0) cache.mark_stored(slot, tokens);
    return slot;
  };
  // Neither fills its last page.
  const auto prompt = stored(cache.reserve(19 * b).value(), 19 * b);
  const auto long_prompt = stored(cache.reserve(81 * b).value(), 81 * b);
  std::vector<CachedSegment> segments;
  const auto add = [&](int64_t own_stored, int64_t rows, KvCache::SlotId prefix) {
    const auto slot = stored(cache.reserve(own_stored + rows + b, prefix).value(), own_stored);
    segments.push_back({slot, cache.stored_tokens(slot), rows, rows - b});
  };
  add(0, 2 * b, prompt);       // the first block's commit and the next one's denoising
  add(11 * b, 2 * b, prompt);  //
  add(3 * b, b, prompt);       // denoising alone
  add(0, b, prompt);
  for (int i = 0; i < 9; ++i) add(i * 5 * b, i % 3 == 0 ? 2 * b : b, long_prompt);
  add(0, 23 * b, KvCache::kNoPrefix);       // a prompt
  add(67 * b, 20 * b, KvCache::kNoPrefix);  // another's second part
  add(0, b, KvCache::kNoPrefix);            // nothing but itself
  add(90 * b, b, prompt);                   // of the first group, apart from it
  const AttentionPlan& plan = planner.plan(segments);
  rows = plan.rows();
  pages.assign(plan.pages.begin(), plan.pages.end());
  pages.insert(pages.end(), plan.prompt_pages.begin(), plan.prompt_pages.end());
  key_limits.assign(plan.key_limits.begin(), plan.key_limits.end());
  const int64_t group = shape.heads / shape.kv_heads;
  tiles.make(plan, {.rows = gpu::kWideColumnsAtMost / group,
                    .warp_rows = gpu::kWarpColumnsAtMost / group,
                    .keys = shape.tile_keys,
                    .shares = rows * 24,
                    .few = shape.few,
                    .few_of_warps = shape.few,
                    .least_keys = 32,
                    .least_keys_of_warps = 16});

  at::manual_seed(3);
  q = (at::randn({rows, shape.heads, shape.head_dim}) * 2).to(at::kBFloat16);
  const at::Tensor values = at::randn(cache.pool(0).sizes()).to(at::kBFloat16);
  pool = at::full_like(values, std::numeric_limits<double>::quiet_NaN());
  // What is stored or written in this forward.
  const auto fill = [&](KvCache::SlotId slot, int64_t end) {
    for (int64_t position = cache.prefix_tokens(slot); position < end; ++position)
      pool[cache.own_row(slot, position)] = values[cache.own_row(slot, position)];
  };
  fill(prompt, 19 * b);
  fill(long_prompt, 81 * b);
  for (const CachedSegment& s : segments) fill(s.slot, s.context_tokens + s.rows);

  expected = at::empty({rows, shape.heads, shape.head_dim}, at::kDouble);
  for (size_t s = 0; s < segments.size(); ++s)
    for (int64_t row = plan.first_rows[s]; row < plan.first_rows[s + 1]; ++row)
      expected[row] = attend_row(plan, s, row);
  REQUIRE(expected.isfinite().all().item<bool>());
}

}  // namespace bicrl::testing

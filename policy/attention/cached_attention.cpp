#include "policy/attention/cached_attention.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "policy/kernels.h"

namespace bicrl {
namespace {

// Pages of a segment with those of the prompt that it extends.
int64_t prompt_pages(const AttentionPlan& plan, size_t segment) {
  const int32_t prompt = plan.segment_prompt[segment];
  if (prompt < 0) return 0;
  return plan.first_prompt_pages[static_cast<size_t>(prompt) + 1] -
         plan.first_prompt_pages[static_cast<size_t>(prompt)];
}

int64_t own_pages(const AttentionPlan& plan, size_t segment) {
  return plan.first_pages[segment + 1] - plan.first_pages[segment];
}

// mask: [rows, keys] of a segment; where it may not look becomes minus infinity. Index and position of a key
// differ if the prompt does not fill its last page.
void hide_keys(const AttentionPlan& plan, size_t segment, int64_t rows, int64_t keys, float* mask) {
  const int64_t prompt_keys = prompt_pages(plan, segment) * plan.page_tokens;
  const int64_t prompt_tokens = plan.prompt_tokens_of(static_cast<int64_t>(segment));
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  for (int64_t r = 0; r < rows; ++r, mask += keys) {
    const int64_t limit = plan.key_limits[static_cast<size_t>(plan.first_rows[segment] + r)];
    std::fill(mask, mask + keys, 0.0f);
    std::fill(mask + prompt_tokens, mask + prompt_keys, kNever);
    std::fill(mask + prompt_keys + (limit - prompt_tokens), mask + keys, kNever);
  }
}

}  // namespace

void CachedAttention::begin(const std::vector<CachedSegment>& segments) {
  const AttentionPlan& plan = planner_.plan(segments);
  segments_ = segments;
  batches_.clear();
  for (size_t first = 0; first < segments.size();) {
    // A batch pads its keys to the longest segment; a factor of two bounds the waste.
    int64_t shortest = std::numeric_limits<int64_t>::max(), longest = 0;
    size_t end = first;
    for (; end < segments.size() && segments[end].rows == segments[first].rows; ++end) {
      const int64_t keys = segments[end].context_tokens + segments[end].rows;
      const int64_t low = std::min(shortest, keys), high = std::max(longest, keys);
      if (high > 2 * low + KvCache::kPageTokens) break;
      shortest = low;
      longest = high;
    }
    batches_.push_back(make_batch(plan, static_cast<int64_t>(first), static_cast<int64_t>(end - first)));
    first = end;
  }
}

CachedAttention::Batch CachedAttention::make_batch(const AttentionPlan& plan, int64_t first_segment,
                                                   int64_t count) const {
  const auto first = static_cast<size_t>(first_segment), end = first + static_cast<size_t>(count);
  Batch batch;
  batch.first_row = plan.first_rows[first];
  batch.segments = count;
  batch.rows = plan.first_rows[first + 1] - plan.first_rows[first];
  for (size_t n = first; n < end; ++n)
    batch.pages = std::max(batch.pages, prompt_pages(plan, n) + own_pages(plan, n));
  const int64_t keys = batch.pages * plan.page_tokens, group = config_.heads / config_.kv_heads;
  batch.page_ids = at::empty({count * batch.pages}, at::kLong);
  at::Tensor mask = at::empty({count, 1, group, batch.rows, keys}, at::kFloat);
  int64_t* page = batch.page_ids.mutable_data_ptr<int64_t>();
  float* visible = mask.mutable_data_ptr<float>();
  for (size_t n = first; n < end; ++n) {
    const int64_t* const segment_end = page + batch.pages;
    if (const int32_t prompt = plan.segment_prompt[n]; prompt >= 0)
      page = std::copy_n(&plan.prompt_pages[static_cast<size_t>(plan.first_prompt_pages[prompt])],
                         prompt_pages(plan, n), page);
    const int32_t* const own = &plan.pages[static_cast<size_t>(plan.first_pages[n])];
    page = std::copy_n(own, own_pages(plan, n), page);
    while (page < segment_end) *page++ = *own;  // any page of the slot: its keys are masked
    hide_keys(plan, n, batch.rows, keys, visible);
    // The query heads of a key head are further rows.
    for (int64_t head = 1; head < group; ++head)
      std::copy_n(visible, batch.rows * keys, visible + head * batch.rows * keys);
    visible += group * batch.rows * keys;
  }
  batch.page_ids = batch.page_ids.to(cache_.device());
  batch.mask = mask.view({count, 1, group * batch.rows, keys}).to(cache_.pool(0).options());
  return batch;
}

at::Tensor CachedAttention::attend(int64_t layer, const at::Tensor& q, const at::Tensor& k,
                                   const at::Tensor& v) {
  const at::Tensor write_rows = planner_.write_rows();
  BICRL_CHECK(q.size(0) == write_rows.size(0), q.size(0), " rows, begin() planned ", write_rows.size(0));
  // Rows that are not stored use the reserved place of their position as scratch: a later forward overwrites
  // it.
  cache_.pool(layer).index_copy_(0, write_rows, at::stack({k, v}, 1));
  return attend_stored(layer, q);
}

// One pass over the rows instead of some fifteen operators.
at::Tensor CachedAttention::attend_projected(int64_t layer, const ProjectedHeads& heads) {
  at::Tensor pool = cache_.pool(layer);
  const auto dense = [](const at::Tensor& x) {
    return x.scalar_type() == at::kFloat && x.stride(2) == 1 && x.stride(1) == x.size(2);
  };
  if (!pool.is_cpu() || pool.scalar_type() != at::kFloat || at::GradMode::is_enabled() ||
      config_.head_dim > kernels::kMaxHeadDim || !dense(heads.q) || !dense(heads.k) || !dense(heads.v))
    return AttentionContext::attend_projected(layer, heads);
  const at::Tensor write_rows = planner_.write_rows();
  BICRL_CHECK(heads.q.size(0) == write_rows.size(0), heads.q.size(0), " rows, begin() planned ",
              write_rows.size(0));
  at::Tensor rotated = at::empty(heads.q.sizes(), heads.q.options());
  kernels::norm_rotate_store_cpu({.rows = heads.q.size(0),
                                  .heads = config_.heads,
                                  .kv_heads = config_.kv_heads,
                                  .head_dim = config_.head_dim,
                                  .q = heads.q.const_data_ptr<float>(),
                                  .k = heads.k.const_data_ptr<float>(),
                                  .v = heads.v.const_data_ptr<float>(),
                                  .q_stride = heads.q.stride(0),
                                  .k_stride = heads.k.stride(0),
                                  .v_stride = heads.v.stride(0),
                                  .q_norm = heads.q_norm.const_data_ptr<float>(),
                                  .k_norm = heads.k_norm.const_data_ptr<float>(),
                                  .eps = heads.eps,
                                  .cos = heads.rotation.cos.const_data_ptr<float>(),
                                  .sin = heads.rotation.sin.const_data_ptr<float>(),
                                  .write_rows = write_rows.const_data_ptr<int64_t>(),
                                  .rotated = rotated.mutable_data_ptr<float>(),
                                  .pool = pool.mutable_data_ptr<float>()});
  return attend_stored(layer, rotated);
}

at::Tensor CachedAttention::attend_stored(int64_t layer, const at::Tensor& q) const {
  const at::Tensor pages = cache_.pool(layer).view({cache_.total_pages(), -1});
  if (batches_.size() == 1) return attend_batch(batches_[0], q, pages);
  std::vector<at::Tensor> parts;
  for (const Batch& batch : batches_) {
    parts.push_back(attend_batch(batch, q.narrow(0, batch.first_row, batch.segments * batch.rows), pages));
  }
  return at::cat(parts, 0);
}

at::Tensor CachedAttention::attend_batch(const Batch& batch, const at::Tensor& q,
                                         const at::Tensor& pages) const {
  const int64_t n = batch.segments, rows = batch.rows, kv_heads = config_.kv_heads, d = config_.head_dim;
  const int64_t group = config_.heads / kv_heads, keys = batch.pages * KvCache::kPageTokens;
  const at::Tensor gathered = pages.index_select(0, batch.page_ids).view({n, keys, 2, kv_heads, d});
  const at::Tensor k = gathered.select(2, 0).transpose(1, 2);  // [n, kv_heads, keys, d]
  const at::Tensor v = gathered.select(2, 1).transpose(1, 2);
  // The query heads of a key head are further rows: keys and values are read once for all of them.
  const at::Tensor folded = q.reshape({n, rows, kv_heads, group, d})
                                .permute({0, 2, 3, 1, 4})
                                .reshape({n, kv_heads, group * rows, d});
  const at::Tensor out = at::scaled_dot_product_attention(folded, k, v, batch.mask, 0.0, false,
                                                          1.0 / std::sqrt(static_cast<double>(d)));
  return out.reshape({n, kv_heads, group, rows, d})
      .permute({0, 3, 1, 2, 4})
      .reshape({n * rows, config_.heads, d});
}

void CachedAttention::commit() {
  for (const auto& s : segments_) {
    if (s.store_rows > 0) cache_.mark_stored(s.slot, s.store_rows);
  }
  segments_.clear();
}

}  // namespace bicrl

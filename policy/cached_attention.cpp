#include "policy/cached_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"

namespace bicrl {
namespace {

at::Tensor on_device(const std::vector<int64_t>& values, at::Device device) {
  return at::tensor(values, at::TensorOptions().dtype(at::kLong)).to(device);
}

}  // namespace

void CachedAttention::check(const CachedSegment& s) const {
  const int64_t b = config_.block_size;
  BICRL_CHECK(s.rows > 0 && s.rows % b == 0 && s.context_tokens % b == 0 && s.store_rows % b == 0 &&
                  s.store_rows <= s.rows,
              "segments are whole blocks of ", b, ": context ", s.context_tokens, ", rows ", s.rows,
              ", store ", s.store_rows);
  BICRL_CHECK(s.context_tokens == cache_.stored_tokens(s.slot), "slot ", s.slot, " holds ",
              cache_.stored_tokens(s.slot), " tokens, not ", s.context_tokens);
  BICRL_CHECK(s.context_tokens + s.rows <= cache_.reserved_tokens(s.slot), "slot ", s.slot, " reserved ",
              cache_.reserved_tokens(s.slot), " tokens; the segment ends at ", s.context_tokens + s.rows);
}

void CachedAttention::begin(const std::vector<CachedSegment>& segments) {
  BICRL_CHECK(!segments.empty());
  segments_ = segments;
  batches_.clear();
  std::vector<int64_t> positions, write_rows;
  for (const auto& s : segments) {
    check(s);
    for (int64_t i = 0; i < s.rows; ++i) {
      positions.push_back(s.context_tokens + i);
      write_rows.push_back(cache_.own_row(s.slot, s.context_tokens + i));
    }
  }
  positions_ = on_device(positions, cache_.device());
  write_rows_ = on_device(write_rows, cache_.device());

  int64_t first_row = 0;
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
    batches_.push_back(make_batch(&segments[first], static_cast<int64_t>(end - first), first_row));
    first_row += static_cast<int64_t>(end - first) * segments[first].rows;
    first = end;
  }
}

CachedAttention::Batch CachedAttention::make_batch(const CachedSegment* segments, int64_t count,
                                                   int64_t first_row) const {
  constexpr int64_t kPage = KvCache::kPageTokens;
  Batch batch;
  batch.first_row = first_row;
  batch.segments = count;
  batch.rows = segments[0].rows;
  const auto own_pages_needed = [&](const CachedSegment& s) {
    return KvCache::pages_for(s.context_tokens + s.rows - cache_.prefix_tokens(s.slot));
  };
  for (int64_t n = 0; n < count; ++n) {
    const int64_t prefix_pages = static_cast<int64_t>(cache_.prefix_pages(segments[n].slot).size());
    batch.pages = std::max(batch.pages, prefix_pages + own_pages_needed(segments[n]));
  }
  std::vector<int64_t> page_ids, spans, prefixes, contexts;
  for (int64_t n = 0; n < count; ++n) {
    const CachedSegment& s = segments[n];
    const auto& prefix = cache_.prefix_pages(s.slot);
    const auto& own = cache_.own_pages(s.slot);
    page_ids.insert(page_ids.end(), prefix.begin(), prefix.end());
    page_ids.insert(page_ids.end(), own.begin(), own.begin() + own_pages_needed(s));
    page_ids.resize((n + 1) * batch.pages, own.front());  // any finite page: its keys are masked
    spans.push_back(static_cast<int64_t>(prefix.size()) * kPage);
    prefixes.push_back(cache_.prefix_tokens(s.slot));
    contexts.push_back(s.context_tokens);
  }
  const at::Device device = cache_.device();
  batch.page_ids = on_device(page_ids, device);

  // Key index and position differ if the prefix does not fill its last page.
  const auto longs = at::TensorOptions().dtype(at::kLong).device(device);
  const at::Tensor index = at::arange(batch.pages * kPage, longs).unsqueeze(0);  // [1, keys]
  const at::Tensor span = on_device(spans, device).unsqueeze(1);                 // [segments, 1]
  const at::Tensor prefix = on_device(prefixes, device).unsqueeze(1);
  const at::Tensor context = on_device(contexts, device).unsqueeze(1);
  const at::Tensor nowhere = at::full({1, 1}, std::numeric_limits<int64_t>::max(), longs);
  const at::Tensor position = at::where(index < span, at::where(index < prefix, index, nowhere),
                                        index - span + prefix);  // [segments, keys]
  const int64_t b = config_.block_size;
  const at::Tensor block_end = at::floor_divide(at::arange(batch.rows, longs), b).add(1).mul(b);  // [rows]
  const at::Tensor limit = context + block_end.unsqueeze(0);              // [segments, rows]
  const at::Tensor visible = position.unsqueeze(1) < limit.unsqueeze(2);  // [segments, rows, keys]
  const int64_t group = config_.heads / config_.kv_heads;
  batch.mask = at::zeros(visible.sizes(), cache_.pool(0).options())
                   .masked_fill_(visible.logical_not(), -std::numeric_limits<double>::infinity())
                   .repeat({1, group, 1})
                   .unsqueeze(1);
  return batch;
}

at::Tensor CachedAttention::attend(int64_t layer, const at::Tensor& q, const at::Tensor& k,
                                   const at::Tensor& v) {
  BICRL_CHECK(q.size(0) == positions_.size(0), q.size(0), " rows, begin() planned ", positions_.size(0));
  // Rows that are not stored use the reserved place of their position as scratch: a later forward overwrites
  // it.
  at::Tensor pool = cache_.pool(layer);
  pool.index_copy_(0, write_rows_, at::stack({k, v}, 1));
  const at::Tensor pages = pool.view({cache_.total_pages(), -1});
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

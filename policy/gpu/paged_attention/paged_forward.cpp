#include "policy/gpu/paged_attention/paged_forward.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "policy/gpu/tensor_pointers.h"

namespace bicrl::gpu {
namespace {

// Room for shares, of each row.
constexpr int64_t kSharesOfRow = 4;

// out = x W^T, and the adapter beside W.
void add_adapter(const Projection& projection, const at::Tensor& x, const at::Tensor& out) {
  if (projection.lora_a.defined())
    at::Tensor(out).addmm_(at::linear(x, projection.lora_a), projection.lora_b.t(), 1, projection.scaling);
}
void project(const Projection& projection, const at::Tensor& x, at::Tensor out) {
  at::mm_out(out, x, projection.weight.t());
  add_adapter(projection, x, out);
}

TileLimits limits_for(const Transformer& policy, int64_t shares) {
  const c10::cuda::CUDAGuard device(policy.device());
  return tile_limits(policy.config().heads, policy.config().kv_heads, shares);
}

}  // namespace

bool PagedForward::supports(const PolicyConfig& c, at::Device device, at::ScalarType dtype) {
  constexpr int64_t kPack = 16 / static_cast<int64_t>(sizeof(BFloat16));
  return device.is_cuda() && dtype == at::kBFloat16 && (c.head_dim == 64 || c.head_dim == 128) &&
         c.heads / c.kv_heads <= kWideColumnsAtMost && c.hidden_size % kPack == 0 &&
         c.intermediate_size % kPack == 0;
}

int64_t PagedForward::workspace_bytes(const PolicyConfig& c, int64_t max_rows) {
  const int64_t q_width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  const int64_t of_row = (3 * c.hidden_size + 3 * q_width + 2 * kv_width + 3 * c.intermediate_size) *
                             static_cast<int64_t>(sizeof(BFloat16)) +
                         2 * c.head_dim * static_cast<int64_t>(sizeof(float));
  const int64_t of_share =
      c.heads * (c.head_dim * static_cast<int64_t>(sizeof(BFloat16)) + static_cast<int64_t>(sizeof(float)));
  return max_rows * (of_row + kSharesOfRow * of_share);
}

PagedForward::PagedForward(const Transformer& policy, int64_t max_rows, KvCache& cache, StepBuffer& buffer)
    : policy_(policy),
      config_(policy.config()),
      cache_(cache),
      planner_(config_.block_size, max_rows, cache, buffer),
      limits_(limits_for(policy, kSharesOfRow * max_rows)),
      // No tile is without a share.
      tiles_(buffer, limits_.shares),
      counts_(buffer, 3),
      pages_(buffer, cache.total_pages()),
      first_share_(buffer, max_rows + 1) {
  BICRL_CHECK(supports(config_, policy.device(), policy.dtype()));
  for (int64_t i = 0; i < config_.layers; ++i) {
    const std::string layer = concat("model.layers.", i, ".");
    fused_.push_back(
        {policy.store().fused(layer + "self_attn.q_proj.weight", layer + "self_attn.v_proj.weight"),
         policy.store().fused(layer + "mlp.gate_proj.weight", layer + "mlp.up_proj.weight")});
  }
  const auto options = at::TensorOptions().device(policy.device()).dtype(at::kBFloat16);
  const int64_t q_width = config_.heads * config_.head_dim, kv_width = config_.kv_heads * config_.head_dim;
  const auto rows_of = [&](int64_t width) { return at::zeros({max_rows, width}, options); };
  x_ = rows_of(config_.hidden_size);
  normed_ = rows_of(config_.hidden_size);
  branch_ = rows_of(config_.hidden_size);
  qkv_ = rows_of(q_width + 2 * kv_width);
  rotated_ = rows_of(q_width);
  mixed_ = rows_of(q_width);
  gate_up_ = rows_of(2 * config_.intermediate_size);
  gated_ = rows_of(config_.intermediate_size);
  cos_ = at::zeros({max_rows, config_.head_dim}, options.dtype(at::kFloat));
  sin_ = at::zeros_like(cos_);
  partial_out_ = at::zeros({limits_.shares, config_.heads, config_.head_dim}, options);
  partial_log_ = at::zeros({limits_.shares, config_.heads}, cos_.options());
}

void PagedForward::plan(const std::vector<CachedSegment>& segments) {
  const AttentionPlan& plan = planner_.plan(segments);
  segments_ = segments;
  planned_rows_ = plan.rows();
  planned_.make(plan, limits_);
  for (auto* array : {&counts_, &pages_, &first_share_}) array->clear();
  tiles_.clear();
  const auto fill = [](auto& array, const auto& values) {
    std::copy(values.begin(), values.end(), array.extend(static_cast<int64_t>(values.size())));
  };
  fill(tiles_, planned_.tiles);
  fill(pages_, plan.pages);
  fill(pages_, plan.prompt_pages);
  fill(first_share_, planned_.first_share);
  for (const int64_t count : {planned_.wide, std::ssize(planned_.tiles), planned_rows_})
    counts_.push_back(static_cast<int32_t>(count));
}

void PagedForward::plan_nothing() {
  segments_.clear();
  planned_rows_ = 0;
  counts_.clear();
  for (int i = 0; i < 3; ++i) counts_.push_back(0);
}

void PagedForward::commit() {
  for (const CachedSegment& s : segments_)
    if (s.store_rows > 0) cache_.mark_stored(s.slot, s.store_rows);
  segments_.clear();
}

// Adds to x_ and norms the sum.
void PagedForward::norm(int64_t rows, const at::Tensor& addend, const at::Tensor& weight) {
  sum_norm_rows<BFloat16>({.rows = rows,
                           .width = config_.hidden_size,
                           .base = bf16(x_),
                           .addend = bf16(addend),
                           .weight = bf16(weight),
                           .eps = config_.rms_norm_eps,
                           .sum = bf16(x_),
                           .out = bf16(normed_)},
                          current_stream());
}

void PagedForward::mix(int64_t layer, int64_t rows) {
  paged_attention({.rows = rows,
                   .heads = config_.heads,
                   .kv_heads = config_.kv_heads,
                   .head_dim = config_.head_dim,
                   .scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim)),
                   .q = bf16(rotated_),
                   .pool = bf16(cache_.pool(layer)),
                   .tiles = tiles_.on_device(),
                   .counts = counts_.on_device(),
                   .pages = pages_.on_device(),
                   .key_limits = planner_.key_limits_on_device(),
                   .first_share = first_share_.on_device(),
                   .partial_out = bf16(partial_out_),
                   .partial_log = fp32(partial_log_),
                   .out = bf16(mixed_)},
                  current_stream());
}

void PagedForward::attend(int64_t index, int64_t rows) {
  const Transformer::Layer& layer = policy_.layers()[static_cast<size_t>(index)];
  const int64_t q_width = config_.heads * config_.head_dim, kv_width = config_.kv_heads * config_.head_dim;
  const at::Tensor normed = normed_.narrow(0, 0, rows);
  at::Tensor qkv = qkv_.narrow(0, 0, rows);
  at::mm_out(qkv, normed, fused_[static_cast<size_t>(index)].qkv.t());
  add_adapter(layer.q, normed, qkv.narrow(1, 0, q_width));
  add_adapter(layer.k, normed, qkv.narrow(1, q_width, kv_width));
  add_adapter(layer.v, normed, qkv.narrow(1, q_width + kv_width, kv_width));
  norm_rotate_store<BFloat16>({.rows = rows,
                               .heads = config_.heads,
                               .kv_heads = config_.kv_heads,
                               .head_dim = config_.head_dim,
                               .q = bf16(qkv),
                               .k = bf16(qkv) + q_width,
                               .v = bf16(qkv) + q_width + kv_width,
                               .q_stride = qkv.size(1),
                               .k_stride = qkv.size(1),
                               .v_stride = qkv.size(1),
                               .q_norm = bf16(layer.q_norm),
                               .k_norm = bf16(layer.k_norm),
                               .eps = config_.rms_norm_eps,
                               .cos = fp32(cos_),
                               .sin = fp32(sin_),
                               .write_rows = planner_.write_rows_on_device(),
                               .rotated = bf16(rotated_),
                               .pool = bf16(cache_.pool(index))},
                              counts_.on_device() + 2, current_stream());
  mix(index, rows);
  project(layer.o, mixed_.narrow(0, 0, rows), branch_.narrow(0, 0, rows));
}

void PagedForward::transform(int64_t index, int64_t rows) {
  const Transformer::Layer& layer = policy_.layers()[static_cast<size_t>(index)];
  const int64_t width = config_.intermediate_size;
  const at::Tensor normed = normed_.narrow(0, 0, rows);
  at::Tensor gate_up = gate_up_.narrow(0, 0, rows);
  at::mm_out(gate_up, normed, fused_[static_cast<size_t>(index)].gate_up.t());
  add_adapter(layer.gate, normed, gate_up.narrow(1, 0, width));
  add_adapter(layer.up, normed, gate_up.narrow(1, width, width));
  swiglu<BFloat16>({.rows = rows, .width = width, .gate_up = bf16(gate_up), .out = bf16(gated_)},
                   current_stream());
  project(layer.down, gated_.narrow(0, 0, rows), branch_.narrow(0, 0, rows));
}

void PagedForward::embed(const int64_t* tokens, int64_t rows) {
  rotation_rows({.rows = rows,
                 .head_dim = config_.head_dim,
                 .positions = planner_.positions_on_device(),
                 .inverse_frequency = fp32(policy_.inverse_frequency()),
                 .cos = fp32(cos_),
                 .sin = fp32(sin_)},
                current_stream());
  sum_norm_rows<BFloat16>({.rows = rows,
                           .width = config_.hidden_size,
                           .base = bf16(policy_.embedding()),
                           .gather = tokens,
                           .weight = bf16(policy_.layers().front().input_norm),
                           .eps = config_.rms_norm_eps,
                           .sum = bf16(x_),
                           .out = bf16(normed_)},
                          current_stream());
}

void PagedForward::run(const int64_t* tokens, int64_t rows, int64_t first_layer, int64_t end_layer) {
  BICRL_CHECK(rows >= planned_rows_ && rows <= x_.size(0), rows, " rows, ", planned_rows_,
              " planned, room for ", x_.size(0));
  if (first_layer == 0) embed(tokens, rows);
  const auto& layers = policy_.layers();
  for (int64_t i = first_layer; i < end_layer; ++i) {
    if (i > 0) norm(rows, branch_, layers[static_cast<size_t>(i)].input_norm);
    attend(i, rows);
    norm(rows, branch_, layers[static_cast<size_t>(i)].post_norm);
    transform(i, rows);
  }
}

void PagedForward::select(const int64_t* rows, const int32_t* count, const at::Tensor& out) {
  sum_norm_rows<BFloat16>({.rows = out.size(0),
                           .width = config_.hidden_size,
                           .base = bf16(x_),
                           .addend = bf16(branch_),
                           .gather = rows,
                           .count = count,
                           .weight = bf16(policy_.final_norm()),
                           .eps = config_.rms_norm_eps,
                           .out = bf16(out)},
                          current_stream());
}

}  // namespace bicrl::gpu

#include "policy/attention/packed_attention.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "policy/attention/packed_attention_plan.h"

namespace bicrl {
namespace {

// How one call's heads are shaped. Query heads of a KV head are folded into rows, so K and V are not
// repeated.
struct Heads {
  int64_t kv = 0;     // KV heads
  int64_t group = 0;  // query heads per KV head
  int64_t dim = 0;
};

// [n * rows, heads, dim] -> [n * kv, group * rows, dim]
at::Tensor fold_queries(const at::Tensor& x, int64_t n, int64_t rows, const Heads& h) {
  return x.view({n, rows, h.kv, h.group, h.dim})
      .permute({0, 2, 3, 1, 4})
      .reshape({n * h.kv, h.group * rows, h.dim});
}
// [n * kv, group * rows, dim] -> [n * rows, heads, dim]
at::Tensor unfold_queries(const at::Tensor& x, int64_t n, int64_t rows, const Heads& h) {
  return x.view({n, h.kv, h.group, rows, -1})
      .permute({0, 3, 1, 2, 4})
      .reshape({n * rows, h.kv * h.group, -1});
}
// [n * rows, kv, dim] -> [n * kv, rows, dim]
at::Tensor fold_keys(const at::Tensor& x, int64_t n, int64_t rows, const Heads& h) {
  return x.view({n, rows, h.kv, h.dim}).transpose(1, 2).reshape({n * h.kv, rows, h.dim});
}
// [n * kv, rows, dim] -> [n * rows, kv, dim]
at::Tensor unfold_keys(const at::Tensor& x, int64_t n, int64_t rows, const Heads& h) {
  return x.view({n, h.kv, rows, h.dim}).transpose(1, 2).reshape({n * rows, h.kv, h.dim});
}

// Scores of a bucket's rows against their clean context, -inf past the limit: [n * kv, group * rows, keys].
at::Tensor context_scores(const AttentionBucket& b, const at::Tensor& queries, const at::Tensor& keys,
                          const Heads& h, int64_t block_size) {
  at::Tensor scores = at::bmm(queries, keys.transpose(1, 2));
  scores.view({b.segments, h.kv, h.group, b.query_rows / block_size, block_size, b.key_rows})
      .masked_fill_(b.masked_keys, -std::numeric_limits<double>::infinity());
  return scores;
}

// Attention to one part of the keys: the weighted mean of their values, and the log of the sum of the weights
// (-inf for no key at all).
struct Part {
  at::Tensor out;  // [rows..., dim]
  at::Tensor lse;  // [rows..., 1]
};

Part softmax_part(at::Tensor scores, const at::Tensor& values) {
  // A row without keys has only -inf scores; a finite maximum keeps -inf - max from becoming NaN.
  const auto max = scores.amax(-1, /*keepdim=*/true).clamp_min_(-1e30);
  scores.sub_(max).exp_();
  const auto sum = scores.sum(-1, /*keepdim=*/true);
  auto out = at::bmm(scores, values).div_(sum.clamp_min(1e-30));
  return {out, sum.log().add_(max)};
}

struct Output {
  at::Tensor out;  // [tokens, heads, dim]
  at::Tensor lse;  // [tokens, heads, 1]
};

// Writes `output`.
void forward_pass(const PackedAttentionPlan& plan, const at::Tensor& q, const at::Tensor& k,
                  const at::Tensor& v, const Heads& h, Output output) {
  const int64_t heads = h.kv * h.group, blocks = plan.tokens / plan.block_size;
  auto context_out = at::empty({plan.query_slots, heads, h.dim}, q.options());
  auto context_lse = at::empty({plan.query_slots, heads, 1}, q.options());
  for (const AttentionBucket& b : plan.buckets) {
    const int64_t rows = b.segments * b.query_rows;
    auto out = context_out.narrow(0, b.query_slot, rows);
    auto lse = context_lse.narrow(0, b.query_slot, rows);
    if (b.key_rows == 0) {
      out.zero_();
      lse.fill_(-std::numeric_limits<double>::infinity());
      continue;
    }
    const auto queries = fold_queries(q.index_select(0, b.query_index), b.segments, b.query_rows, h);
    const auto keys = fold_keys(k.index_select(0, b.key_index), b.segments, b.key_rows, h);
    const auto values = fold_keys(v.index_select(0, b.key_index), b.segments, b.key_rows, h);
    const Part part = softmax_part(context_scores(b, queries, keys, h, plan.block_size), values);
    out.copy_(unfold_queries(part.out, b.segments, b.query_rows, h));
    lse.copy_(unfold_queries(part.lse, b.segments, b.query_rows, h));
  }
  const auto context = Part{context_out.index_select(0, plan.query_slot_of_row),
                            context_lse.index_select(0, plan.query_slot_of_row)};
  const auto queries = fold_queries(q, blocks, plan.block_size, h);
  const auto keys = fold_keys(k, blocks, plan.block_size, h);
  const auto values = fold_keys(v, blocks, plan.block_size, h);
  const Part own_folded = softmax_part(at::bmm(queries, keys.transpose(1, 2)), values);
  const Part own{unfold_queries(own_folded.out, blocks, plan.block_size, h),
                 unfold_queries(own_folded.lse, blocks, plan.block_size, h)};
  at::logaddexp_out(output.lse, context.lse, own.lse);
  at::mul_out(output.out, context.out, (context.lse - output.lse).exp_());
  output.out.add_(own.out.mul((own.lse - output.lse).exp_()));
}

// Gradients of one softmax part, given the merged log-sum-exp and delta = rowsum(out * grad_out).
struct PartGradients {
  at::Tensor q, k, v;
};

PartGradients part_gradients(at::Tensor scores, const at::Tensor& queries, const at::Tensor& keys,
                             const at::Tensor& values, const at::Tensor& grad, const at::Tensor& lse,
                             const at::Tensor& delta) {
  const auto probabilities = scores.sub_(lse).exp_();
  auto grad_values = at::bmm(probabilities.transpose(1, 2), grad);
  auto grad_scores = at::bmm(grad, values.transpose(1, 2)).sub_(delta).mul_(probabilities);
  return {at::bmm(grad_scores, keys), at::bmm(grad_scores.transpose(1, 2), queries), grad_values};
}

struct Gradients {
  at::Tensor q, k, v;
};

// Writes `total`.
void backward_pass(const PackedAttentionPlan& plan, const at::Tensor& q, const at::Tensor& k,
                   const at::Tensor& v, const Output& output, const at::Tensor& grad, const Heads& h,
                   const Gradients& total) {
  const int64_t heads = h.kv * h.group, blocks = plan.tokens / plan.block_size;
  const auto delta = (output.out * grad).sum(-1, /*keepdim=*/true);  // [tokens, heads, 1]
  auto slots_q = at::empty({plan.query_slots, heads, h.dim}, q.options());
  // The extra last row stays zero: it is what rows that are nobody's context read back.
  auto slots_k = at::empty({plan.key_slots + 1, h.kv, h.dim}, q.options());
  auto slots_v = at::empty_like(slots_k);
  slots_k.select(0, plan.key_slots).zero_();
  slots_v.select(0, plan.key_slots).zero_();
  for (const AttentionBucket& b : plan.buckets) {
    auto to_q = slots_q.narrow(0, b.query_slot, b.segments * b.query_rows);
    if (b.key_rows == 0) {
      to_q.zero_();
      continue;
    }
    const auto rows = [&](const at::Tensor& x, const Heads& shape) {
      return fold_queries(x.index_select(0, b.query_index), b.segments, b.query_rows, shape);
    };
    const Heads column{h.kv, h.group, 1};
    const auto queries = rows(q, h);
    const auto keys = fold_keys(k.index_select(0, b.key_index), b.segments, b.key_rows, h);
    const auto values = fold_keys(v.index_select(0, b.key_index), b.segments, b.key_rows, h);
    const auto g = part_gradients(context_scores(b, queries, keys, h, plan.block_size), queries, keys, values,
                                  rows(grad, h), rows(output.lse, column), rows(delta, column));
    to_q.copy_(unfold_queries(g.q, b.segments, b.query_rows, h));
    slots_k.narrow(0, b.key_slot, b.segments * b.key_rows).copy_(unfold_keys(g.k, b.segments, b.key_rows, h));
    slots_v.narrow(0, b.key_slot, b.segments * b.key_rows).copy_(unfold_keys(g.v, b.segments, b.key_rows, h));
  }
  const auto own = [&](const at::Tensor& x, const Heads& shape) {
    return fold_queries(x, blocks, plan.block_size, shape);
  };
  const Heads column{h.kv, h.group, 1};
  const auto queries = own(q, h);
  const auto keys = fold_keys(k, blocks, plan.block_size, h);
  const auto values = fold_keys(v, blocks, plan.block_size, h);
  const auto g = part_gradients(at::bmm(queries, keys.transpose(1, 2)), queries, keys, values, own(grad, h),
                                own(output.lse, column), own(delta, column));
  total.q.copy_(unfold_queries(g.q, blocks, plan.block_size, h));
  total.k.copy_(unfold_keys(g.k, blocks, plan.block_size, h));
  total.v.copy_(unfold_keys(g.v, blocks, plan.block_size, h));
  total.q.add_(slots_q.index_select(0, plan.query_slot_of_row));
  total.k.add_(slots_k.index_select(0, plan.key_slot_of_row));
  total.v.add_(slots_v.index_select(0, plan.key_slot_of_row));
  // In the order of the segments, so that the sum over a prefix's users is the same in every run.
  for (const PrefixUse& use : plan.prefix_uses) {
    total.k.narrow(0, use.prefix_begin, use.rows).add_(slots_k.narrow(0, use.key_slot, use.rows));
    total.v.narrow(0, use.prefix_begin, use.rows).add_(slots_v.narrow(0, use.key_slot, use.rows));
  }
}

// Low-precision inputs are scored in fp32.
at::Tensor compute_type(const at::Tensor& x) {
  return (x.scalar_type() == at::kDouble ? x : x.to(at::kFloat)).contiguous();
}
Heads heads_of(const at::Tensor& q, const at::Tensor& k) {
  return {k.size(1), q.size(1) / k.size(1), q.size(2)};
}
double scale_of(const at::Tensor& q) { return 1.0 / std::sqrt(static_cast<double>(q.size(2))); }
at::Tensor scaled(const at::Tensor& q) { return compute_type(q).mul(scale_of(q)); }
bool is_rounded(const at::Tensor& q) {
  return q.scalar_type() != at::kDouble && q.scalar_type() != at::kFloat;
}

// Where a forward pass leaves what it computes, unrounded.
Output output_in(const at::Tensor& q, const at::Tensor& out, const at::Tensor& state) {
  const int64_t sums = q.size(0) * q.size(1);
  return {is_rounded(q) ? state.narrow(0, sums, q.numel()).view(q.sizes()) : out,
          state.narrow(0, 0, sums).view({q.size(0), q.size(1), 1})};
}
// The tensor itself if gradients can be summed up in it.
at::Tensor sum_for(const at::Tensor& gradient) {
  return is_rounded(gradient) || !gradient.is_contiguous()
             ? at::empty(gradient.sizes(),
                         gradient.options().dtype(is_rounded(gradient) ? at::kFloat : gradient.scalar_type()))
             : gradient;
}
void give(const at::Tensor& sum, const at::Tensor& gradient) {
  if (!sum.is_same(gradient)) gradient.copy_(sum);
}

class OperatorBackend : public AttentionBackend {
 public:
  explicit OperatorBackend(const AttentionShape& shape) : shape_(shape) {}
  std::string name() const override { return "operators"; }
  AttentionMemory memory(const std::vector<PackedSegment>& segments, int64_t rows) const override {
    return packed_attention_memory(attention_extent(segments, shape_.block_size), rows, shape_);
  }
  std::unique_ptr<TrainingAttention> make(const std::vector<PackedSegment>& segments,
                                          int64_t rows) const override {
    return std::make_unique<PackedAttention>(segments, rows, shape_.block_size, shape_.device);
  }

 private:
  AttentionShape shape_;
};

}  // namespace

PackedAttention::PackedAttention(const std::vector<PackedSegment>& segments, int64_t tokens,
                                 int64_t block_size, at::Device device) {
  plan_ = std::make_shared<PackedAttentionPlan>(plan_attention(segments, tokens, block_size, device));
}

int64_t PackedAttention::rows() const { return plan_->tokens; }

int64_t PackedAttention::state_elements(const at::Tensor& q) const {
  return q.size(0) * q.size(1) * (is_rounded(q) ? 1 + q.size(2) : 1);
}

void PackedAttention::forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const at::Tensor& out, const at::Tensor& state) {
  const at::NoGradGuard guard;
  const Output output = output_in(q, out, state);
  forward_pass(*plan_, scaled(q), compute_type(k), compute_type(v), heads_of(q, k), output);
  give(output.out, out);
}

void PackedAttention::backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const at::Tensor& out, const at::Tensor& state,
                               const at::Tensor& grad_q, const at::Tensor& grad_k, const at::Tensor& grad_v) {
  const at::NoGradGuard guard;
  const Gradients sums{sum_for(grad_q), sum_for(grad_k), sum_for(grad_v)};
  backward_pass(*plan_, scaled(q), compute_type(k), compute_type(v), output_in(q, out, state),
                compute_type(grad_out), heads_of(q, k), sums);
  give(sums.q.mul_(scale_of(q)), grad_q);
  give(sums.k, grad_k);
  give(sums.v, grad_v);
}

std::unique_ptr<AttentionBackend> operator_attention(const AttentionShape& shape) {
  return std::make_unique<OperatorBackend>(shape);
}

}  // namespace bicrl

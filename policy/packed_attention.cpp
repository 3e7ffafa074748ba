#include "policy/packed_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/error.h"

namespace bicrl {
namespace {

// Scores held at once; bounds the memory of a bucket (fp32: 64 MiB a head).
constexpr int64_t kScoresPerBucket = int64_t{1} << 24;
// Segments of unlike length share a bucket as long as the padded area stays below this multiple of the true
// one.
constexpr double kPaddingTolerance = 1.25;

// Segments of similar shape whose rows meet their clean context in one batched product.
struct Bucket {
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

struct Shape {
  const PackedSegment* segment = nullptr;
  int64_t queries = 0;
  int64_t keys = 0;  // the largest key limit of any row
};

}  // namespace

struct PackedAttentionPlan {
  int64_t tokens = 0;
  int64_t block_size = 0;
  std::vector<Bucket> buckets;
  std::vector<PrefixUse> prefix_uses;
  int64_t query_slots = 0;
  int64_t key_slots = 0;
  at::Tensor query_slot_of_row;  // [tokens]
  at::Tensor key_slot_of_row;    // [tokens]; key_slots if the row is no key of its own segment
};

namespace {

std::vector<int64_t> key_limits(const PackedSegment& segment, int64_t block_size) {
  std::vector<int64_t> limits;
  for (int64_t row = 0; row < segment.clean_rows; row += block_size)
    limits.push_back(segment.prefix_rows + row);
  for (int64_t block : segment.noisy_blocks) limits.push_back(block * block_size);
  return limits;
}

Shape shape_of(const PackedSegment& segment, int64_t block_size) {
  const auto limits = key_limits(segment, block_size);
  const int64_t keys = limits.empty() ? 0 : *std::max_element(limits.begin(), limits.end());
  return {&segment, segment.rows(block_size), keys};
}

void check_segments(const std::vector<PackedSegment>& segments, int64_t tokens, int64_t block_size) {
  int64_t next = 0;
  for (const auto& s : segments) {
    BICRL_CHECK(s.begin == next, "segment starts at row ", s.begin, ", expected ", next);
    BICRL_CHECK(s.prefix_rows % block_size == 0 && s.clean_rows % block_size == 0,
                "ragged block in a segment");
    BICRL_CHECK(s.prefix_begin + s.prefix_rows <= s.begin || s.prefix_rows == 0,
                "prefix must precede its user");
    for (int64_t block : s.noisy_blocks) {
      BICRL_CHECK(block >= 0 && block * block_size <= s.prefix_rows + s.clean_rows, "noisy block ", block,
                  " needs more context than the segment has");
    }
    next += s.rows(block_size);
  }
  BICRL_CHECK(next == tokens, "segments cover ", next, " of ", tokens, " rows");
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
Bucket make_bucket(const std::vector<Shape>& shapes, PackedAttentionPlan& plan,
                   std::vector<int64_t>& query_slot_of_row, std::vector<int64_t>& key_slot_of_row,
                   at::Device device) {
  Bucket bucket;
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
    const auto segment_limits = key_limits(s, plan.block_size);
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
at::Tensor context_scores(const Bucket& b, const at::Tensor& queries, const at::Tensor& keys, const Heads& h,
                          int64_t block_size) {
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

Output forward_pass(const PackedAttentionPlan& plan, const at::Tensor& q, const at::Tensor& k,
                    const at::Tensor& v, const Heads& h) {
  const int64_t heads = h.kv * h.group, blocks = plan.tokens / plan.block_size;
  auto context_out = at::empty({plan.query_slots, heads, h.dim}, q.options());
  auto context_lse = at::empty({plan.query_slots, heads, 1}, q.options());
  for (const Bucket& b : plan.buckets) {
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
  const auto lse = at::logaddexp(context.lse, own.lse);
  auto out = context.out.mul((context.lse - lse).exp_()).add_(own.out.mul((own.lse - lse).exp_()));
  return {out, lse};
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

Gradients backward_pass(const PackedAttentionPlan& plan, const at::Tensor& q, const at::Tensor& k,
                        const at::Tensor& v, const Output& output, const at::Tensor& grad, const Heads& h) {
  const int64_t heads = h.kv * h.group, blocks = plan.tokens / plan.block_size;
  const auto delta = (output.out * grad).sum(-1, /*keepdim=*/true);  // [tokens, heads, 1]
  auto slots_q = at::empty({plan.query_slots, heads, h.dim}, q.options());
  // The extra last row stays zero: it is what rows that are nobody's context read back.
  auto slots_k = at::empty({plan.key_slots + 1, h.kv, h.dim}, q.options());
  auto slots_v = at::empty_like(slots_k);
  slots_k.select(0, plan.key_slots).zero_();
  slots_v.select(0, plan.key_slots).zero_();
  for (const Bucket& b : plan.buckets) {
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
  Gradients total{unfold_queries(g.q, blocks, plan.block_size, h),
                  unfold_keys(g.k, blocks, plan.block_size, h), unfold_keys(g.v, blocks, plan.block_size, h)};
  total.q.add_(slots_q.index_select(0, plan.query_slot_of_row));
  total.k.add_(slots_k.index_select(0, plan.key_slot_of_row));
  total.v.add_(slots_v.index_select(0, plan.key_slot_of_row));
  // In the order of the segments, so that the sum over a prefix's users is the same in every run.
  for (const PrefixUse& use : plan.prefix_uses) {
    total.k.narrow(0, use.prefix_begin, use.rows).add_(slots_k.narrow(0, use.key_slot, use.rows));
    total.v.narrow(0, use.prefix_begin, use.rows).add_(slots_v.narrow(0, use.key_slot, use.rows));
  }
  return total;
}

// Low-precision inputs are scored in fp32.
at::Tensor compute_type(const at::Tensor& x) {
  return (x.scalar_type() == at::kDouble ? x : x.to(at::kFloat)).contiguous();
}

class PackedAttentionFunction : public torch::autograd::Function<PackedAttentionFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& q,
                            const at::Tensor& k, const at::Tensor& v,
                            std::shared_ptr<const PackedAttentionPlan> plan) {
    const Heads h = heads_of(q, k);
    const Output output = forward_pass(*plan, scaled(q), compute_type(k), compute_type(v), h);
    context->save_for_backward({q, k, v, output.out, output.lse});
    context->saved_data["plan"] = c10::IValue::make_capsule(c10::make_intrusive<PlanHolder>(std::move(plan)));
    return output.out.to(q.scalar_type());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2];
    const auto holder = context->saved_data["plan"].toCapsule();
    const auto& plan = *static_cast<PlanHolder*>(holder.get())->plan;
    const Heads h = heads_of(q, k);
    Gradients g = backward_pass(plan, scaled(q), compute_type(k), compute_type(v), {saved[3], saved[4]},
                                compute_type(grads[0]), h);
    const auto type = q.scalar_type();
    return {g.q.mul_(scale_of(q)).to(type), g.k.to(type), g.v.to(type), at::Tensor()};
  }

 private:
  struct PlanHolder : torch::CustomClassHolder {
    explicit PlanHolder(std::shared_ptr<const PackedAttentionPlan> p) : plan(std::move(p)) {}
    std::shared_ptr<const PackedAttentionPlan> plan;
  };
  static Heads heads_of(const at::Tensor& q, const at::Tensor& k) {
    return {k.size(1), q.size(1) / k.size(1), q.size(2)};
  }
  static double scale_of(const at::Tensor& q) { return 1.0 / std::sqrt(static_cast<double>(q.size(2))); }
  static at::Tensor scaled(const at::Tensor& q) { return compute_type(q).mul(scale_of(q)); }
};

}  // namespace

PackedAttention::PackedAttention(const std::vector<PackedSegment>& segments, int64_t tokens,
                                 int64_t block_size, at::Device device) {
  check_segments(segments, tokens, block_size);
  auto plan = std::make_shared<PackedAttentionPlan>();
  plan->tokens = tokens;
  plan->block_size = block_size;
  std::vector<int64_t> query_slot_of_row(tokens, -1), key_slot_of_row(tokens, -1);
  for (const auto& shapes : bucketed(segments, block_size)) {
    plan->buckets.push_back(make_bucket(shapes, *plan, query_slot_of_row, key_slot_of_row, device));
  }
  for (auto& slot : key_slot_of_row) {
    if (slot < 0) slot = plan->key_slots;
  }
  plan->query_slot_of_row = to_device(query_slot_of_row, device);
  plan->key_slot_of_row = to_device(key_slot_of_row, device);
  plan_ = std::move(plan);
}

at::Tensor PackedAttention::attend(int64_t, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  BICRL_CHECK(q.size(0) == plan_->tokens, "attention over ", q.size(0), " rows, the pack has ",
              plan_->tokens);
  return PackedAttentionFunction::apply(q, k, v, plan_);
}

}  // namespace bicrl

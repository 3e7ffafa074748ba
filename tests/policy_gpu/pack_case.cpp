#include "tests/policy_gpu/pack_case.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "policy/attention/packed_attention.h"

namespace bicrl::testing {
namespace {

// Weights and gradients of scores are rounded to bf16 between two products, and outputs before deltas are
// taken of them, as in every attention of this kind. That costs no more than this; masks are checked by
// counts.
constexpr double kMeanTimes = 3.0, kLargestTimes = 6.0;
// Counts up to here are told from their neighbours.
constexpr double kCountable = 120;

PackResults results_of(PackedAttention& attention, const at::Tensor& q, const at::Tensor& k,
                       const at::Tensor& v, const at::Tensor& grad_out) {
  const auto alike = [](const at::Tensor& x) { return at::empty(x.sizes(), x.options()); };
  PackResults r{alike(q), alike(q), alike(k), alike(v)};
  const at::Tensor state = attention.new_state(q);
  attention.forward(q, k, v, r.out, state);
  attention.backward(grad_out, q, k, v, r.out, state, r.grad_q, r.grad_k, r.grad_v);
  return r;
}

void check_near(const std::string& name, const at::Tensor& got, const at::Tensor& by_operators,
                const at::Tensor& exact) {
  REQUIRE(got.sizes() == exact.sizes());
  const auto gap = [&](const at::Tensor& x) { return (x.to(at::kDouble) - exact).abs().nan_to_num(1e300); };
  const at::Tensor ours = gap(got), theirs = gap(by_operators);
  const int64_t worst = ours.flatten(1).amax(1).argmax().item<int64_t>();
  INFO(name << ": mean error " << ours.mean().item<double>() << ", by operators "
            << theirs.mean().item<double>() << "; largest " << ours.max().item<double>() << " (row " << worst
            << "), by operators " << theirs.max().item<double>());
  // Both round the result to bf16.
  const double unit = exact.abs().max().item<double>() / 256;
  CHECK(ours.mean().item<double>() <= kMeanTimes * theirs.mean().item<double>());
  CHECK(ours.max().item<double>() <= kLargestTimes * theirs.max().item<double>() + unit);
}

}  // namespace

bool same_bits(const PackResults& a, const PackResults& b) {
  const auto same = [](const at::Tensor& x, const at::Tensor& y) {
    return at::equal(x.contiguous().view(at::kShort), y.contiguous().view(at::kShort));
  };
  return same(a.out, b.out) && same(a.grad_q, b.grad_q) && same(a.grad_k, b.grad_k) &&
         same(a.grad_v, b.grad_v);
}

std::vector<PackedSegment> ragged_segments(int64_t b, int64_t scale) {
  std::vector<PackedSegment> segments;
  int64_t rows = 0;
  const auto add = [&](int64_t prefix_begin, int64_t prefix_blocks, int64_t clean_blocks,
                       std::vector<int64_t> noisy) {
    segments.push_back({prefix_begin, prefix_blocks * b, rows, clean_blocks * b, std::move(noisy)});
    rows += segments.back().rows(b);
    return segments.back().begin;
  };
  const auto blocks = [&](int64_t tokens) { return (tokens * scale + b - 1) / b; };
  const int64_t p = blocks(84), c = blocks(76);
  const int64_t prompt = add(0, 0, p, {});
  // Two rounds of the first blocks, and one of some more.
  std::vector<int64_t> rounds;
  for (int64_t i = 0; i <= c; ++i) rounds.insert(rounds.end(), i % 3 == 1 ? 2 : 1, p + i);
  add(prompt, p, c, rounds);
  add(prompt, p, 0, {p});
  add(0, 0, 1, {});   // a sole block
  add(0, 0, 0, {0});  // likewise, noisy
  add(prompt, p, 0, {1, 0, p});
  const int64_t other = add(0, 0, blocks(133), {2, 5 < blocks(133) ? 5 : 1, 0});
  add(other, blocks(133), blocks(20), {blocks(133) + 1});
  // Downwards, so that a tile has rows of very different limits.
  std::vector<int64_t> downwards;
  for (int64_t i = blocks(60); i >= 0; i -= 2) downwards.push_back(i);
  add(0, 0, blocks(60), downwards);
  add(prompt, p, blocks(8), {p + 1});
  return segments;
}

PackCase::PackCase(const PackCaseShape& its) : PackCase(its, ragged_segments(its.block_size, its.scale)) {}

PackCase::PackCase(const PackCaseShape& its, std::vector<PackedSegment> its_segments)
    : shape(its), segments(std::move(its_segments)) {
  for (const PackedSegment& s : segments) rows += s.rows(shape.block_size);
  const int64_t heads = shape.heads, kv = shape.kv_heads, d = shape.head_dim;
  at::manual_seed(11);
  product =
      at::full({rows + 3, heads + 2 * kv + 1, d}, std::numeric_limits<double>::quiet_NaN(), at::kBFloat16)
          .to(shape.device);
  const auto slice = [&](int64_t first, int64_t count) {
    const at::Tensor heads_of = product.narrow(0, 0, rows).narrow(1, first, count);
    heads_of.copy_(at::randn({rows, count, d}) * 1.3);
    return heads_of;
  };
  q = slice(0, heads);
  k = slice(heads, kv);
  v = slice(heads + kv, kv);
  grad_out = at::randn({rows, heads, d}).to(at::kBFloat16).to(shape.device);
  compute_expected();
}

void PackCase::compute_expected() {
  PackedAttention attention(segments, rows, shape.block_size, shape.device);
  const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble); };
  exact = results_of(attention, wide(q), wide(k), wide(v), wide(grad_out));
  by_operators = results_of(attention, q, k, v, grad_out);
}

namespace {

// How many keys each row sees: [rows, 1, 1].
at::Tensor keys_of_rows(const std::vector<PackedSegment>& segments, int64_t block_size) {
  std::vector<double> keys;
  for (const PackedSegment& s : segments)
    for (const int64_t limit : context_limits(s, block_size))
      keys.insert(keys.end(), static_cast<size_t>(block_size), static_cast<double>(limit + block_size));
  return at::tensor(keys, at::kDouble).view({-1, 1, 1});
}

void check_equal_counts(const std::string& name, const at::Tensor& got, const at::Tensor& counts) {
  const at::Tensor countable = counts.le(kCountable);
  const at::Tensor gap = (got - counts).abs().nan_to_num(1e300).where(countable, at::zeros_like(counts));
  const int64_t worst = gap.flatten(1).amax(1).argmax().item<int64_t>();
  INFO(name << ": row " << worst << " is off by " << gap[worst].max().item<double>());
  CHECK(gap.max().item<double>() < 0.5);
}

}  // namespace

PackCase PackCase::counting(const PackCaseShape& shape) {
  PackCase c(shape);
  const auto bits = [](const at::Tensor& like) {
    return at::rand(like.sizes()).gt(0.5).to(like.device()).to(like.dtype());
  };
  const at::Tensor keys = keys_of_rows(c.segments, shape.block_size).to(shape.device);
  c.q.zero_();
  c.v.copy_(bits(c.v));
  c.grad_out.copy_(bits(c.grad_out) * keys);
  c.compute_expected();
  return c;
}

void PackCase::check_counts(const PackResults& results) const {
  INFO(name());
  const at::Tensor keys = keys_of_rows(segments, shape.block_size).to(shape.device);
  REQUIRE((exact.out * keys).le(kCountable).to(at::kDouble).mean().item<double>() > 0.3);
  check_equal_counts("out", results.out.to(at::kDouble) * keys, (exact.out * keys).round());
  check_equal_counts("the gradient of v", results.grad_v.to(at::kDouble), exact.grad_v.round());
}

std::string PackCase::name() const {
  return concat(shape.heads, " heads, ", shape.kv_heads, " of keys, head_dim ", shape.head_dim,
                ", blocks of ", shape.block_size, ", ", rows, " rows");
}

PackAttentionShape PackCase::plan_shape(int64_t processors) const {
  return {shape.heads, shape.kv_heads, shape.head_dim, shape.block_size, processors};
}

void PackCase::check(const PackResults& results) const {
  INFO(name());
  check_near("out", results.out, by_operators.out, exact.out);
  check_near("the gradient of q", results.grad_q, by_operators.grad_q, exact.grad_q);
  check_near("the gradient of k", results.grad_k, by_operators.grad_k, exact.grad_k);
  check_near("the gradient of v", results.grad_v, by_operators.grad_v, exact.grad_v);
}

}  // namespace bicrl::testing

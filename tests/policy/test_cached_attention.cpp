// The cached forward equals a dense forward over the whole sequence, in every segment form.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "common/error.h"
#include "common/rng.h"
#include "policy/attention/cached_attention.h"
#include "policy/transformer.h"
#include "tests/support/dense_attention.h"

namespace bicrl {
namespace {

PolicyConfig tiny_config(int64_t block_size = 4) {
  PolicyConfig c;
  c.vocab_size = 64;
  c.hidden_size = 32;
  c.layers = 3;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 16;
  c.intermediate_size = 48;
  c.initializer_range = 0.2;
  c.block_size = block_size;
  c.mask_token_id = 63;
  c.end_token_ids = {0};
  return c;
}

std::vector<int64_t> draw_tokens(int64_t count, uint64_t key) {
  RandomStream stream(key);
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int64_t>(stream.below(64)));
  return tokens;
}

at::Tensor dense_hidden(const Transformer& policy, const std::vector<int64_t>& tokens) {
  const int64_t n = static_cast<int64_t>(tokens.size());
  testing::DenseMaskAttention attention(testing::block_causal_mask(n, policy.config().block_size, at::kCPU));
  return policy.hidden(at::tensor(tokens, at::kLong), at::arange(n, at::kLong), attention);
}

// One cached forward: the tokens of the segments, read from their sequences.
at::Tensor cached_hidden(const Transformer& policy, CachedAttention& attention,
                         const std::vector<CachedSegment>& segments,
                         const std::vector<std::vector<int64_t>>& sequences) {
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < segments.size(); ++i) {
    const auto first = sequences[i].begin() + segments[i].context_tokens;
    tokens.insert(tokens.end(), first, first + segments[i].rows);
  }
  attention.begin(segments);
  at::Tensor hidden = policy.hidden(at::tensor(tokens, at::kLong), attention.positions(), attention);
  attention.commit();
  return hidden;
}

double gap(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

}  // namespace

TEST_CASE("chunked prefill, denoising and fused commits equal a dense forward", "[cached_attention]") {
  const at::NoGradGuard no_grad;
  const int64_t b = GENERATE(int64_t{4}, int64_t{8});
  const Transformer policy = Transformer::random(tiny_config(b), 5, at::kCPU, at::kFloat);
  KvCache cache(policy.config(), 12, at::kCPU, at::kFloat);
  StepBuffer buffer(at::kCPU);
  CachedAttention attention(policy.config(), 64, cache, buffer);
  buffer.allocate();
  const auto tokens = draw_tokens(7 * b, 1);
  const at::Tensor expected = dense_hidden(policy, tokens);
  const auto slot = cache.reserve(7 * b).value();

  // Two prefill chunks of unequal size.
  at::Tensor out = cached_hidden(policy, attention, {{slot, 0, 3 * b, 3 * b}}, {tokens});
  CHECK(gap(out, expected.narrow(0, 0, 3 * b)) < 1e-5);
  out = cached_hidden(policy, attention, {{slot, 3 * b, b, b}}, {tokens});
  CHECK(gap(out, expected.narrow(0, 3 * b, b)) < 1e-5);
  // A denoise step with other tokens stores nothing: the step after it does not see them.
  auto masked = tokens;
  for (int64_t i = 4 * b; i < 5 * b; ++i) masked[i] = 63;
  out = cached_hidden(policy, attention, {{slot, 4 * b, b, 0}}, {masked});
  CHECK(gap(out, expected.narrow(0, 4 * b, b)) > 1e-2);
  CHECK(cache.stored_tokens(slot) == 4 * b);
  out = cached_hidden(policy, attention, {{slot, 4 * b, b, 0}}, {tokens});
  CHECK(gap(out, expected.narrow(0, 4 * b, b)) < 1e-5);
  // Commit of block 4 fused with block 5, then block 5 with block 6.
  out = cached_hidden(policy, attention, {{slot, 4 * b, 2 * b, b}}, {tokens});
  CHECK(gap(out, expected.narrow(0, 4 * b, 2 * b)) < 1e-5);
  CHECK(cache.stored_tokens(slot) == 5 * b);
  out = cached_hidden(policy, attention, {{slot, 5 * b, 2 * b, b}}, {tokens});
  CHECK(gap(out, expected.narrow(0, 5 * b, 2 * b)) < 1e-5);
}

TEST_CASE("one forward of mixed segments over a shared prefix equals each sequence alone",
          "[cached_attention]") {
  const at::NoGradGuard no_grad;
  const Transformer policy = Transformer::random(tiny_config(), 6, at::kCPU, at::kFloat);
  KvCache cache(policy.config(), 64, at::kCPU, at::kFloat);
  StepBuffer buffer(at::kCPU);
  CachedAttention attention(policy.config(), 64, cache, buffer);
  buffer.allocate();
  // 20 prompt tokens do not fill their second page, so a member's own part starts on a page of its own.
  const auto prompt = draw_tokens(20, 2);
  const auto prefix = cache.reserve(20).value();
  std::vector<std::vector<int64_t>> sequences;
  std::vector<KvCache::SlotId> slots;
  for (uint64_t n = 0; n < 4; ++n) {
    sequences.push_back(prompt);
    const auto tail = draw_tokens(40, 10 + n);
    sequences.back().insert(sequences.back().end(), tail.begin(), tail.end());
    slots.push_back(cache.reserve(40, prefix).value());
  }
  const auto lonely = draw_tokens(12, 3);
  const auto lonely_slot = cache.reserve(12).value();

  cached_hidden(policy, attention, {{prefix, 0, 20, 20}, {lonely_slot, 0, 8, 8}}, {prompt, lonely});
  CHECK(cache.stored_tokens(slots[0]) == 20);
  // Members 1 and 3 get ahead of the others.
  cached_hidden(policy, attention, {{slots[1], 20, 24, 24}, {slots[3], 20, 4, 4}},
                {sequences[1], sequences[3]});

  const std::vector<CachedSegment> segments = {{slots[0], 20, 8, 4},
                                               {slots[1], 44, 8, 4},
                                               {slots[2], 20, 4, 0},
                                               {slots[3], 24, 4, 0},
                                               {lonely_slot, 8, 4, 0}};
  const std::vector<std::vector<int64_t>> inputs = {sequences[0], sequences[1], sequences[2], sequences[3],
                                                    lonely};
  const at::Tensor out = cached_hidden(policy, attention, segments, inputs);
  int64_t row = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const at::Tensor expected =
        dense_hidden(policy, inputs[i]).narrow(0, segments[i].context_tokens, segments[i].rows);
    INFO("segment " << i);
    CHECK(gap(out.narrow(0, row, segments[i].rows), expected) < 1e-5);
    row += segments[i].rows;
  }
}

TEST_CASE("pages return with the last reference and a refused reservation changes nothing",
          "[cached_attention]") {
  KvCache cache(tiny_config(), 6, at::kCPU, at::kFloat);
  const auto prefix = cache.reserve(33).value();  // 3 pages
  const auto member = cache.reserve(16, prefix).value();
  CHECK(cache.free_pages() == 2);
  CHECK_FALSE(cache.reserve(33, prefix).has_value());
  CHECK(cache.free_pages() == 2);
  CHECK(cache.reserved_tokens(member) == 49);
  cache.release(prefix);  // the member still holds it
  CHECK(cache.free_pages() == 2);
  cache.release(member);
  CHECK(cache.free_pages() == 6);
  CHECK(cache.live_slots() == 0);
  CHECK_THROWS_AS(cache.release(member), Error);
  CHECK(cache.reserve(96).has_value());
}

TEST_CASE("segments that break the cache's order are refused", "[cached_attention]") {
  KvCache cache(tiny_config(), 6, at::kCPU, at::kFloat);
  StepBuffer buffer(at::kCPU);
  CachedAttention attention(tiny_config(), 64, cache, buffer);
  buffer.allocate();
  const auto slot = cache.reserve(8).value();
  CHECK_THROWS_AS(attention.begin({{slot, 4, 4, 0}}), Error);   // sees tokens that were never stored
  CHECK_THROWS_AS(attention.begin({{slot, 0, 12, 0}}), Error);  // beyond its reservation
  CHECK_THROWS_AS(attention.begin({{slot, 0, 3, 0}}), Error);   // half a block
  CHECK_THROWS_AS(attention.begin({{slot, 0, 4, 8}}), Error);   // stores more rows than it has
  attention.begin({{slot, 0, 8, 4}});
}

TEST_CASE("the pool is as large as announced", "[cached_attention]") {
  KvCache cache(tiny_config(), 5, at::kCPU, at::kBFloat16);
  CHECK(static_cast<int64_t>(cache.pool(0).nbytes()) * 3 ==
        5 * KvCache::bytes_per_page(tiny_config(), at::kBFloat16));
}

}  // namespace bicrl

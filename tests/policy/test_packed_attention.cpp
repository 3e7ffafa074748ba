#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>

#include "common/error.h"
#include "common/rng.h"
#include "policy/dense_attention.h"
#include "policy/packed_attention.h"

using namespace bicrl;

namespace {

constexpr int64_t kBlock = 4;

struct Row {
  int64_t group = 0, segment = 0, position = 0, noisy = -1;  // noisy: index of the noisy block in its segment
};

// A pack of groups (prompt of 0-5 blocks, 1-4 responses), written from the definition of the layout alone.
struct Pack {
  std::vector<PackedSegment> segments;
  std::vector<Row> rows;

  explicit Pack(uint64_t key) {
    RandomStream random(key);
    for (int64_t group = 0; group < 3; ++group) add_group(group, random);
  }

  void add_group(int64_t group, RandomStream& random) {
    const int64_t prompt_begin = static_cast<int64_t>(rows.size());
    const int64_t prompt_blocks = static_cast<int64_t>(random.below(6));
    if (prompt_blocks > 0) add_segment(group, 0, 0, prompt_begin, prompt_blocks, {});
    const int64_t responses = 1 + static_cast<int64_t>(random.below(4));
    for (int64_t i = 0; i < responses; ++i) {
      const int64_t clean_blocks = static_cast<int64_t>(random.below(5));
      std::vector<int64_t> noisy;
      for (int64_t j = 0; j <= clean_blocks; ++j) {
        for (uint64_t n = random.below(3); n > 0; --n) noisy.push_back(prompt_blocks + j);
      }
      if (noisy.empty()) noisy.push_back(prompt_blocks + clean_blocks);
      add_segment(group, prompt_blocks, prompt_begin, static_cast<int64_t>(rows.size()), clean_blocks, noisy);
    }
  }

  void add_segment(int64_t group, int64_t prefix_blocks, int64_t prefix_begin, int64_t begin,
                   int64_t clean_blocks, const std::vector<int64_t>& noisy) {
    const auto id = static_cast<int64_t>(segments.size());
    segments.push_back({prefix_begin, prefix_blocks * kBlock, begin, clean_blocks * kBlock, noisy});
    for (int64_t i = 0; i < clean_blocks * kBlock; ++i)
      rows.push_back({group, id, prefix_blocks * kBlock + i, -1});
    for (size_t n = 0; n < noisy.size(); ++n) {
      for (int64_t i = 0; i < kBlock; ++i)
        rows.push_back({group, id, noisy[n] * kBlock + i, static_cast<int64_t>(n)});
    }
  }

  bool sees(const Row& query, const Row& key) const {
    if (query.group != key.group) return false;
    const bool same_segment = query.segment == key.segment;
    const bool key_is_prompt =
        segments[key.segment].prefix_rows == 0 && segments[key.segment].noisy_blocks.empty();
    if (key.noisy >= 0) return same_segment && query.noisy == key.noisy;
    if (!same_segment && !key_is_prompt) return false;
    const int64_t block = query.position / kBlock;
    return key.position < (query.noisy >= 0 ? block * kBlock : (block + 1) * kBlock);
  }

  at::Tensor mask() const {
    const auto count = static_cast<int64_t>(rows.size());
    at::Tensor mask = at::zeros({count, count}, at::kBool);
    auto cells = mask.accessor<bool, 2>();
    for (int64_t q = 0; q < count; ++q) {
      for (int64_t k = 0; k < count; ++k) cells[q][k] = sees(rows[q], rows[k]);
    }
    return mask;
  }
};

at::Tensor draw(int64_t rows, int64_t heads, int64_t dim, uint64_t key) {
  at::Tensor x = at::empty({rows, heads, dim}, at::kDouble);
  RandomStream random(key);
  double* out = x.mutable_data_ptr<double>();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = random.normal();
  return x;
}

std::vector<at::Tensor> results(AttentionContext& attention, std::vector<at::Tensor> qkv,
                                const at::Tensor& grad) {
  for (auto& x : qkv) x = x.detach().requires_grad_(true);
  const at::Tensor out = attention.attend(0, qkv[0], qkv[1], qkv[2]);
  auto all = torch::autograd::grad({out}, {qkv[0], qkv[1], qkv[2]}, {grad});
  all.push_back(out.detach());
  return all;
}

}  // namespace

TEST_CASE("packed attention equals dense attention under the layout's mask, with its gradients") {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Pack pack(mix_key({7, seed}));
    const auto rows = static_cast<int64_t>(pack.rows.size());
    const int64_t kv = 1 + seed % 2, heads = kv * (1 + seed % 3), dim = 6;
    const std::vector<at::Tensor> qkv{draw(rows, heads, dim, seed * 10), draw(rows, kv, dim, seed * 10 + 1),
                                      draw(rows, kv, dim, seed * 10 + 2)};
    const at::Tensor grad = draw(rows, heads, dim, seed * 10 + 3);
    DenseMaskAttention dense(pack.mask());
    PackedAttention packed(pack.segments, rows, kBlock, at::kCPU);
    const auto expected = results(dense, qkv, grad), actual = results(packed, qkv, grad);
    for (size_t i = 0; i < expected.size(); ++i) {
      INFO("seed " << seed << ", tensor " << i);
      CHECK((expected[i] - actual[i]).abs().max().item<double>() < 1e-12);
    }
  }
}

TEST_CASE("packed attention in bfloat16 stays near fp64") {
  const Pack pack(3);
  const auto rows = static_cast<int64_t>(pack.rows.size());
  std::vector<at::Tensor> qkv{draw(rows, 4, 8, 1), draw(rows, 2, 8, 2), draw(rows, 2, 8, 3)};
  for (auto& x : qkv) x = x.to(at::kBFloat16);
  PackedAttention packed(pack.segments, rows, kBlock, at::kCPU);
  const at::Tensor low = packed.attend(0, qkv[0], qkv[1], qkv[2]);
  CHECK(low.scalar_type() == at::kBFloat16);
  for (auto& x : qkv) x = x.to(at::kDouble);
  CHECK((packed.attend(0, qkv[0], qkv[1], qkv[2]) - low).abs().max().item<double>() < 0.02);
}

TEST_CASE("packed attention refuses segments that do not describe the pack") {
  const auto make = [](const std::vector<PackedSegment>& segments, int64_t tokens) {
    PackedAttention(segments, tokens, kBlock, at::kCPU);
  };
  make({{0, 0, 0, 8, {}}}, 8);
  CHECK_THROWS_AS(make({{0, 0, 0, 8, {}}}, 12), Error);                     // rows that belong to nobody
  CHECK_THROWS_AS(make({{0, 0, 0, 8, {}}, {0, 8, 4, 4, {}}}, 12), Error);   // overlap
  CHECK_THROWS_AS(make({{0, 0, 0, 6, {}}}, 6), Error);                      // ragged block
  CHECK_THROWS_AS(make({{0, 0, 0, 8, {}}, {0, 8, 8, 4, {4}}}, 16), Error);  // context beyond the clean rows
}

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>

#include "common/error.h"
#include "common/rng.h"
#include "policy/attention/packed_attention.h"
#include "tests/policy/random_pack.h"
#include "tests/support/dense_attention.h"

using namespace bicrl;
using bicrl::testing::RandomPack;

namespace {

constexpr int64_t kBlock = 4;

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
    const RandomPack pack(mix_key({7, seed}));
    const auto rows = static_cast<int64_t>(pack.rows.size());
    const int64_t kv = 1 + seed % 2, heads = kv * (1 + seed % 3), dim = 6;
    const std::vector<at::Tensor> qkv{draw(rows, heads, dim, seed * 10), draw(rows, kv, dim, seed * 10 + 1),
                                      draw(rows, kv, dim, seed * 10 + 2)};
    const at::Tensor grad = draw(rows, heads, dim, seed * 10 + 3);
    testing::DenseMaskAttention dense(pack.mask());
    PackedAttention packed(pack.segments, rows, kBlock, at::kCPU);
    const auto expected = results(dense, qkv, grad), actual = results(packed, qkv, grad);
    for (size_t i = 0; i < expected.size(); ++i) {
      INFO("seed " << seed << ", tensor " << i);
      CHECK((expected[i] - actual[i]).abs().max().item<double>() < 1e-12);
    }
  }
}

TEST_CASE("packed attention in bfloat16 stays near fp64") {
  const RandomPack pack(3);
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

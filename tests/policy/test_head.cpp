// The two ends of the transformer in low precision: sums in fp32, against fp64.
#include <ATen/ATen.h>
#include <ATen/Context.h>

#include <catch2/catch_test_macros.hpp>

#include "policy/embedding.h"
#include "policy/head.h"
#include "tests/support/differences.h"

namespace bicrl {
namespace {

void check_head(at::Device device) {
  const int64_t vocab = 10'000, width = 512;  // several slices of the weight
  const at::Tensor weight = at::randn({vocab, width}).mul_(0.05).to(device, at::kBFloat16);
  const at::Tensor exact_weight = weight.to(at::kCPU, at::kDouble);
  at::Tensor expected = at::zeros({vocab, width}, at::kDouble);
  for (uint64_t chunk = 0; chunk < 20; ++chunk) {
    const at::Tensor hidden = at::randn({7, width}).to(device, at::kBFloat16);
    const at::Tensor gradient = at::randn({7, vocab}).to(device);
    const at::Tensor exact_hidden = hidden.to(at::kCPU, at::kDouble);
    const at::Tensor exact_gradient = gradient.to(at::kCPU, at::kDouble);
    const at::Tensor logits = head_logits(hidden, weight);
    CHECK(logits.scalar_type() == at::kFloat);
    CHECK(testing::relative_difference(logits, exact_hidden.mm(exact_weight.t())) < 1e-6);
    const at::Tensor back = head_backward(gradient, hidden, weight);
    CHECK(back.scalar_type() == at::kBFloat16);  // rounded once
    CHECK(testing::relative_difference(back, exact_gradient.mm(exact_weight)) < 2e-3);
    expected.addmm_(exact_gradient.t(), exact_hidden);
  }
  CHECK(weight.grad().scalar_type() == at::kFloat);
  CHECK(testing::relative_difference(weight.grad(), expected) < 1e-5);
}

}  // namespace

TEST_CASE("a low-precision head sums in fp32, over all chunks") { check_head(at::kCPU); }

TEST_CASE("a low-precision head on a GPU sums in fp32, over all chunks", "[gpu]") {
  if (!at::hasCUDA()) SKIP("no GPU in this build or machine");
  check_head(at::Device(at::kCUDA, 0));
}

TEST_CASE("a token's embedding gets the sum of all its rows, rounded once") {
  at::Tensor weight = at::randn({30, 16}).to(at::kBFloat16).requires_grad_(true);
  // Half of the rows are one token, as MASK is.
  at::Tensor tokens = at::arange(4096, at::kLong).remainder_(60);
  tokens.masked_fill_(tokens.ge(30), 7);
  const at::Tensor gradient = (at::randn({4096, 16}) + 0.3).to(at::kBFloat16);
  const at::Tensor rows = embed(weight, tokens);
  CHECK(at::equal(rows, at::embedding(weight, tokens)));
  rows.backward(gradient);
  const at::Tensor expected =
      at::zeros({30, 16}, at::kDouble).index_add_(0, tokens, gradient.to(at::kDouble));
  CHECK(weight.grad().scalar_type() == at::kBFloat16);
  CHECK(testing::relative_difference(weight.grad(), expected) < 3e-3);
}

}  // namespace bicrl

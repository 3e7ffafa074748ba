#include "policy/pass/recompute.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch_test_macros.hpp>

#include "policy/attention/packed_attention.h"
#include "policy/transformer.h"
#include "tests/support/tiny_policy_config.h"

namespace bicrl {
namespace {

// Counts how often a layer attends.
class Counting : public AttentionContext {
 public:
  explicit Counting(AttentionContext& of) : of_(of) {}
  at::Tensor attend(int64_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override {
    ++times;
    return of_.attend(layer, q, k, v);
  }
  int64_t times = 0;

 private:
  AttentionContext& of_;
};

struct Pass {
  at::Tensor hidden;
  std::vector<at::Tensor> gradients;
  int64_t attended_forward = 0, attended = 0;
};

Pass run(Recompute recompute, at::ScalarType dtype) {
  Transformer policy = Transformer::random(testing::three_layer_config(), 8, at::kCPU, dtype);
  policy.set_recompute(recompute);
  for (const auto& [name, value] : policy.parameters()) value.requires_grad_(true);
  const int64_t rows = 24;
  PackedSegment all;
  all.clean_rows = rows;
  PackedAttention packed({all}, rows, 4, at::kCPU);
  Counting attention(packed);
  Pass pass;
  const at::Tensor tokens = at::arange(rows, at::kLong);
  const at::Tensor hidden = policy.hidden(tokens, tokens, attention);
  pass.attended_forward = attention.times;
  pass.hidden = hidden.detach();
  (hidden.to(at::kDouble) * at::linspace(-1, 1, hidden.numel(), at::kDouble).view(hidden.sizes()))
      .sum()
      .backward();
  pass.attended = attention.times;
  for (const auto& [name, value] : policy.parameters())
    pass.gradients.push_back(value.grad().defined() ? value.grad().clone() : at::zeros({1}));
  return pass;
}

TEST_CASE("activations that are computed again change no bit of values and gradients") {
  const int64_t layers = testing::three_layer_config().layers;
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const Pass kept = run(Recompute::kNone, dtype);
    CHECK(kept.attended == layers);
    for (const auto recompute : {Recompute::kSelective, Recompute::kFull}) {
      const Pass again = run(recompute, dtype);
      CHECK(again.attended_forward == layers);
      CHECK(again.attended == (recompute == Recompute::kFull ? 2 * layers : layers));
      CHECK(at::equal(again.hidden, kept.hidden));
      REQUIRE(again.gradients.size() == kept.gradients.size());
      for (size_t i = 0; i < kept.gradients.size(); ++i) {
        // In fp64, which no run has, a norm is several operations, and selective adds their gradients
        // earlier.
        if (dtype == at::kDouble && recompute == Recompute::kSelective)
          CHECK((again.gradients[i] - kept.gradients[i]).abs().max().item<double>() < 1e-12);
        else
          CHECK(at::equal(again.gradients[i], kept.gradients[i]));
      }
    }
  }
}

TEST_CASE("what is computed again is not kept") {
  // A part that makes much more than it is given and gives.
  const auto weight = at::randn({1000, 10}).requires_grad_(true);
  int64_t runs = 0;
  const auto part = [&](const at::Tensor& x) {
    ++runs;
    return at::linear(at::tanh(at::linear(x, weight)), weight.t());
  };
  const at::Tensor x = at::randn({7, 10}).requires_grad_(true);
  const at::Tensor direct = part(x), y = recomputed(part, x);
  CHECK(runs == 2);
  CHECK(at::equal(direct, y));
  direct.sum().backward();
  const at::Tensor x_grad = x.grad().clone(), weight_grad = weight.grad().clone();
  x.mutable_grad().reset();
  weight.mutable_grad().reset();
  y.sum().backward();
  CHECK(runs == 3);
  CHECK(at::equal(x.grad(), x_grad));
  CHECK(at::equal(weight.grad(), weight_grad));
  // Nothing to come back for.
  const at::NoGradGuard guard;
  CHECK_FALSE(recomputed(part, x).requires_grad());
}

}  // namespace
}  // namespace bicrl

// The seam of attention to packs: its two halves, slices of fused products, the check of one backend by
// another, and what it says of pairs and memory.
#include "policy/attention/training_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"
#include "tests/policy/random_pack.h"

using namespace bicrl;
using bicrl::testing::RandomPack;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr int64_t kHeads = 4, kKvHeads = 2, kDim = 8;

AttentionShape shape_of(const RandomPack& pack, at::ScalarType dtype) {
  return {kHeads, kKvHeads, kDim, pack.block_size, dtype, at::kCPU};
}

struct Work {
  explicit Work(const RandomPack& pack, at::ScalarType dtype) {
    const auto rows = static_cast<int64_t>(pack.rows.size());
    at::manual_seed(5);
    product = at::randn({rows, kHeads + 2 * kKvHeads, kDim}, at::kDouble).to(dtype);
    grad_out = at::randn({rows, kHeads, kDim}, at::kDouble).to(dtype);
    q = product.narrow(1, 0, kHeads);
    k = product.narrow(1, kHeads, kKvHeads);
    v = product.narrow(1, kHeads + kKvHeads, kKvHeads);
  }
  at::Tensor product, q, k, v, grad_out;  // q, k and v are slices of the product
};

// Multiplies what a backend gives in one tensor.
class OffBackend : public AttentionBackend {
 public:
  OffBackend(const AttentionShape& shape, double factor)
      : backend_(operator_attention(shape)), factor_(factor) {}
  std::string name() const override { return "off"; }
  AttentionMemory memory(const std::vector<PackedSegment>& s, int64_t rows) const override {
    return backend_->memory(s, rows);
  }
  std::unique_ptr<TrainingAttention> make(const std::vector<PackedSegment>& s, int64_t rows) const override {
    return std::make_unique<Off>(backend_->make(s, rows), factor_);
  }

 private:
  struct Off : TrainingAttention {
    Off(std::unique_ptr<TrainingAttention> its, double by) : attention(std::move(its)), factor(by) {}
    int64_t rows() const override { return attention->rows(); }
    int64_t state_elements(const at::Tensor& q) const override { return attention->state_elements(q); }
    void forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
                 const at::Tensor& state) override {
      attention->forward(q, k, v, out, state);
    }
    void backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const at::Tensor& out, const at::Tensor& state, const at::Tensor& grad_q,
                  const at::Tensor& grad_k, const at::Tensor& grad_v) override {
      attention->backward(grad_out, q, k, v, out, state, grad_q, grad_k, grad_v);
      grad_k[2][1].mul_(factor);
    }
    std::unique_ptr<TrainingAttention> attention;
    double factor;
  };
  std::unique_ptr<AttentionBackend> backend_;
  double factor_;
};

std::vector<at::Tensor> by_autograd(AttentionContext& attention, const Work& work) {
  std::vector<at::Tensor> qkv;
  for (const at::Tensor& x : {work.q, work.k, work.v}) qkv.push_back(x.detach().requires_grad_(true));
  const at::Tensor out = attention.attend(0, qkv[0], qkv[1], qkv[2]);
  auto all = torch::autograd::grad({out}, {qkv[0], qkv[1], qkv[2]}, {work.grad_out});
  all.push_back(out.detach());
  return all;
}

}  // namespace

TEST_CASE("attention's halves on slices of a fused product give what autograd gives, bit for bit") {
  const RandomPack pack(21);
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const Work work(pack, dtype);
    const auto rows = work.q.size(0);
    const auto attention = operator_attention(shape_of(pack, dtype))->make(pack.segments, rows);
    CHECK(attention->rows() == rows);
    const auto expected = by_autograd(*attention, work);

    const at::Tensor out = at::full({rows, kHeads, kDim}, NAN, work.q.options());
    const at::Tensor state = attention->new_state(work.q).fill_(NAN);
    const at::Tensor gradient = at::full_like(work.product, NAN);
    attention->upload();
    attention->forward(work.q, work.k, work.v, out, state);
    attention->backward(work.grad_out, work.q, work.k, work.v, out, state, gradient.narrow(1, 0, kHeads),
                        gradient.narrow(1, kHeads, kKvHeads),
                        gradient.narrow(1, kHeads + kKvHeads, kKvHeads));
    CHECK(at::equal(out, expected[3]));
    CHECK(at::equal(gradient, at::cat({expected[0], expected[1], expected[2]}, 1)));
  }
}

TEST_CASE("checked attention passes results on and names the head that differs") {
  const RandomPack pack(22);
  const Work work(pack, at::kFloat);
  const AttentionShape shape = shape_of(pack, at::kFloat);
  const auto rows = work.q.size(0);
  const auto trusted = [&] { return operator_attention(shape); };
  const auto expected = by_autograd(*trusted()->make(pack.segments, rows), work);
  const auto agreeing = checked_attention(trusted(), trusted(), 1e-6);
  CHECK(agreeing->name() == "operators, checked against operators");
  const auto results = by_autograd(*agreeing->make(pack.segments, rows), work);
  for (size_t i = 0; i < results.size(); ++i) CHECK(at::equal(results[i], expected[i]));

  const auto off = checked_attention(std::make_unique<OffBackend>(shape, 1.5), trusted(), 0.01);
  CHECK_THROWS_MATCHES(by_autograd(*off->make(pack.segments, rows), work), Error,
                       MessageMatches(ContainsSubstring("the gradient of k of row 2, head 1 is")));
  const auto none = checked_attention(std::make_unique<OffBackend>(shape, NAN), trusted(), 1e6);
  CHECK_THROWS_AS(by_autograd(*none->make(pack.segments, rows), work), Error);
}

TEST_CASE("attention refuses a pack of other rows than it was made for") {
  const RandomPack pack(23);
  const Work work(pack, at::kFloat);
  const auto attention = operator_attention(shape_of(pack, at::kFloat))->make(pack.segments, work.q.size(0));
  CHECK_THROWS_AS(
      attention->attend(0, work.q.narrow(0, 4, 8), work.k.narrow(0, 4, 8), work.v.narrow(0, 4, 8)), Error);
}

TEST_CASE("pairs of a pack are those of its mask") {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const RandomPack pack(seed, /*rows_of_block=*/seed % 2 == 0 ? 4 : 16);
    CHECK(attention_pairs(pack.segments, pack.block_size) == pack.mask().sum().item<int64_t>());
  }
}

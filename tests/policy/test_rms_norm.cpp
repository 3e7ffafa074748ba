#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>

#include "policy/rms_norm.h"
#include "tests/support/differences.h"

namespace bicrl {
namespace {

constexpr double kEps = 1e-5;

// The definition, in fp64.
at::Tensor plain(const at::Tensor& x, const at::Tensor& weight) {
  return x * (x.square().mean(-1, true) + kEps).rsqrt() * weight;
}

TEST_CASE("RMS norm and its gradients equal the definition at every width") {
  for (const int64_t n : {1, 7, 16, 33, 128, 200}) {
    INFO("width " << n);
    at::Tensor x = at::randn({5, 3, n}), weight = at::randn({n});
    const at::Tensor grad = at::randn({5, 3, n});
    at::Tensor exact_x = x.to(at::kDouble).requires_grad_(true),
               exact_weight = weight.to(at::kDouble).requires_grad_(true);
    x.requires_grad_(true);
    weight.requires_grad_(true);
    const at::Tensor out = rms_norm(x, weight, kEps), exact = plain(exact_x, exact_weight);
    CHECK(testing::largest_difference(out, exact) < 1e-5);
    out.backward(grad);
    exact.backward(grad.to(at::kDouble));
    CHECK(testing::largest_difference(x.grad(), exact_x.grad()) <
          2e-5 * (1 + exact_x.grad().abs().max().item<double>()));
    CHECK(testing::largest_difference(weight.grad(), exact_weight.grad()) < 2e-5);
    // Without gradients the same numbers, bit for bit.
    CHECK(at::equal(rms_norm(x.detach(), weight.detach(), kEps), out));
  }
}

TEST_CASE("RMS norm takes views, and a gradient of one input alone") {
  at::Tensor x = at::randn({8, 6}), weight = at::randn({6});
  const at::Tensor transposed = at::randn({6, 8}).t();
  CHECK(testing::largest_difference(rms_norm(transposed, weight, kEps), plain(transposed, weight)) < 1e-5);
  weight.requires_grad_(true);
  rms_norm(x, weight, kEps).sum().backward();
  CHECK(weight.grad().defined());
  CHECK_FALSE(x.grad().defined());
  x.requires_grad_(true);
  const at::Tensor fixed = weight.detach();
  rms_norm(x.t().contiguous().t(), fixed, kEps).t().sum().backward();
  CHECK(x.grad().defined());
  CHECK(rms_norm(at::empty({0, 6}), fixed, kEps).sizes() == at::IntArrayRef({0, 6}));
}

TEST_CASE("RMS norm of many rows does not depend on the thread count") {
  const at::Tensor x = at::randn({4096, 64}), weight = at::randn({64}), grad = at::randn({4096, 64});
  const auto run = [&](int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    at::Tensor leaf = x.clone().requires_grad_(true), scale = weight.clone().requires_grad_(true);
    const at::Tensor out = rms_norm(leaf, scale, kEps);
    out.backward(grad);
    at::set_num_threads(before);
    return std::vector<at::Tensor>{out.detach(), leaf.grad(), scale.grad()};
  };
  const auto one = run(1), four = run(4);
  for (size_t i = 0; i < one.size(); ++i) CHECK(at::equal(one[i], four[i]));
}

TEST_CASE("RMS norm in bf16 keeps its statistic in fp32") {
  const at::Tensor x = (at::randn({4, 512}) * 8).to(at::kBFloat16), weight = at::ones({512}, at::kBFloat16);
  const at::Tensor exact = plain(x.to(at::kDouble), weight.to(at::kDouble));
  CHECK(testing::largest_difference(rms_norm(x, weight, kEps), exact) < 0.02);
}

}  // namespace
}  // namespace bicrl

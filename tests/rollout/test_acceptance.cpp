#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "common/error.h"
#include "common/rng.h"
#include "rollout/decoding/acceptance.h"

namespace bicrl {
namespace {

std::vector<int64_t> accepted_positions(const AcceptanceSettings& settings,
                                        const std::vector<double>& confidence,
                                        const std::vector<int64_t>& masked, int64_t quota) {
  const int64_t b = static_cast<int64_t>(confidence.size());
  const at::Tensor accepted =
      accept(settings, at::tensor(confidence, at::kFloat).view({1, b}),
             at::tensor(masked, at::kLong).to(at::kBool).view({1, b}), at::full({1}, quota, at::kLong));
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < b; ++i) {
    if (accepted[0][i].item<bool>()) positions.push_back(i);
  }
  return positions;
}

using Positions = std::vector<int64_t>;
constexpr auto kStatic = AcceptanceStrategy::kLowConfidenceStatic;
constexpr auto kDynamic = AcceptanceStrategy::kLowConfidenceDynamic;
constexpr auto kSequential = AcceptanceStrategy::kSequential;
constexpr auto kEntropyBounded = AcceptanceStrategy::kEntropyBounded;
constexpr auto kRandom = AcceptanceStrategy::kRandom;

}  // namespace

TEST_CASE("quotas share a block with the remainder first", "[acceptance]") {
  const auto quotas = [](int64_t b, int64_t steps) {
    std::vector<int64_t> all;
    for (int64_t k = 0; k < steps; ++k) all.push_back(acceptance_quota(b, steps, k));
    return all;
  };
  CHECK(quotas(4, 4) == Positions{1, 1, 1, 1});
  CHECK(quotas(4, 3) == Positions{2, 1, 1});
  CHECK(quotas(8, 3) == Positions{3, 3, 2});
  CHECK(quotas(4, 1) == Positions{4});
  CHECK_THROWS_AS(acceptance_quota(4, 4, 4), Error);
}

TEST_CASE("static acceptance takes the most confident masked positions, ties from the left", "[acceptance]") {
  CHECK(accepted_positions({.strategy = kStatic}, {.1, .9, .5, .7}, {1, 1, 1, 1}, 2) == Positions{1, 3});
  CHECK(accepted_positions({.strategy = kStatic}, {.1, .9, .5, .7}, {1, 0, 1, 0}, 1) == Positions{2});
  CHECK(accepted_positions({.strategy = kStatic}, {.5, .5, .5, .5}, {0, 1, 1, 1}, 2) == Positions{1, 2});
  CHECK(accepted_positions({.strategy = kStatic}, {0, 0, 0, 0}, {1, 0, 0, 1}, 3) == Positions{0, 3});
}

TEST_CASE("dynamic acceptance takes all above the threshold, or falls back to the quota", "[acceptance]") {
  CHECK(accepted_positions({.strategy = kDynamic, .threshold = .6}, {.7, .9, .5, .65}, {1, 1, 1, 1}, 1) ==
        Positions{0, 1, 3});
  CHECK(accepted_positions({.strategy = kDynamic, .threshold = .95}, {.7, .9, .5, .65}, {1, 1, 1, 1}, 1) ==
        Positions{1});
  // One above the threshold, but two are due: the second most confident comes along.
  CHECK(accepted_positions({.strategy = kDynamic, .threshold = .8}, {.7, .9, .5, .65}, {1, 1, 1, 1}, 2) ==
        Positions{0, 1});
  CHECK(accepted_positions({.strategy = kDynamic, .threshold = .6}, {.7, .9, .5, .65}, {0, 0, 1, 0}, 1) ==
        Positions{2});
  // Exactly the threshold is not above it.
  CHECK(accepted_positions({.strategy = kDynamic, .threshold = .5}, {.5, .25, .5, .75}, {1, 1, 1, 1}, 1) ==
        Positions{3});
}

TEST_CASE("sequential acceptance goes from the left", "[acceptance]") {
  CHECK(accepted_positions({.strategy = kSequential}, {.1, .9, .5, .7}, {0, 1, 1, 1}, 2) == Positions{1, 2});
}

TEST_CASE("entropy-bounded acceptance fills its bound from the surest on, and takes the quota at least",
          "[acceptance]") {
  const AcceptanceSettings settings{.strategy = kEntropyBounded, .entropy_bound = 0.5};
  // Scores are negative entropies.
  CHECK(accepted_positions(settings, {-.3, -.1, -.2, -.05}, {1, 1, 1, 1}, 1) == Positions{1, 2, 3});
  CHECK(accepted_positions(settings, {-.3, -.1, -.2, -.05}, {1, 1, 0, 1}, 1) == Positions{0, 1, 3});
  CHECK(accepted_positions(settings, {-3, -2, -1, -2}, {1, 1, 1, 1}, 1) == Positions{2});
  CHECK(accepted_positions(settings, {-3, -2, -1, -2}, {1, 1, 1, 1}, 2) == Positions{1, 2});
}

TEST_CASE("acceptance by lot takes the quota's highest lots", "[acceptance]") {
  CHECK(accepted_positions({.strategy = kRandom}, {.3, .1, .2, .9}, {1, 1, 1, 0}, 2) == Positions{0, 2});
}

TEST_CASE("blocks of a batch are judged each for itself, as a literal rule says", "[acceptance]") {
  RandomStream random(7);
  const int64_t blocks = 200, b = 8;
  std::vector<double> confidence;
  std::vector<int64_t> masked, quotas;
  for (int64_t i = 0; i < blocks * b; ++i) {
    confidence.push_back(static_cast<double>(random.below(6)) / 8.0);  // many ties
    masked.push_back(random.below(3) > 0);
  }
  for (int64_t i = 0; i < blocks; ++i) quotas.push_back(1 + static_cast<int64_t>(random.below(4)));
  const at::Tensor grid = at::tensor(confidence, at::kFloat).view({blocks, b});
  const at::Tensor mask = at::tensor(masked, at::kLong).to(at::kBool).view({blocks, b});
  for (const AcceptanceStrategy strategy : {kStatic, kDynamic}) {
    const at::Tensor accepted =
        accept({.strategy = strategy, .threshold = 0.5}, grid, mask, at::tensor(quotas, at::kLong));
    for (int64_t n = 0; n < blocks; ++n) {
      std::vector<int64_t> order, sure;
      for (int64_t i = 0; i < b; ++i) {
        if (masked[n * b + i]) order.push_back(i);
        if (masked[n * b + i] && confidence[n * b + i] > 0.5) sure.push_back(i);
      }
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t x, int64_t y) { return confidence[n * b + x] > confidence[n * b + y]; });
      if (static_cast<int64_t>(order.size()) > quotas[n]) order.resize(quotas[n]);
      if (strategy == kDynamic && static_cast<int64_t>(sure.size()) >= quotas[n]) order = sure;
      std::sort(order.begin(), order.end());
      std::vector<int64_t> got;
      for (int64_t i = 0; i < b; ++i) {
        if (accepted[n][i].item<bool>()) got.push_back(i);
      }
      REQUIRE(got == order);
    }
  }
}

TEST_CASE("strategies are named as in configuration files", "[acceptance]") {
  CHECK(parse_acceptance_strategy("low_confidence_static") == kStatic);
  CHECK(parse_acceptance_strategy("low_confidence_dynamic") == kDynamic);
  CHECK(parse_acceptance_strategy("sequential") == kSequential);
  CHECK(parse_acceptance_strategy("entropy_bounded") == kEntropyBounded);
  CHECK(parse_acceptance_strategy("random") == kRandom);
  CHECK_THROWS_AS(parse_acceptance_strategy("greedy"), InputError);
}

TEST_CASE("acceptance without operators is that of the operators", "[acceptance]") {
  const int64_t blocks = 50;
  for (const int64_t b : {1, 4, 7, 64})
    for (const AcceptanceStrategy strategy : {kStatic, kDynamic, kSequential, kRandom}) {
      INFO("blocks of " << b << ", strategy " << static_cast<int>(strategy));
      // Of few values, so that many are equal.
      const at::Tensor score = at::randint(0, 10, {blocks, b}, at::kFloat) / 10;
      const at::Tensor masked = at::rand({blocks, b}) < 0.7;
      const at::Tensor quotas = at::randint(1, b + 1, {blocks}, at::kLong);
      const AcceptanceSettings settings{.strategy = strategy, .threshold = 0.6};
      CHECK(at::equal(accept(settings, score, masked, quotas),
                      accept_by_operators(settings, score, masked, quotas)));
    }
}

}  // namespace bicrl

#include "reward/max_at_k.h"

#include <algorithm>
#include <bit>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "common/rng.h"
#include "reward/advantage.h"

using namespace bicrl;
using Catch::Approx;

namespace {

// By the definition: over all sets of k.
std::vector<double> enumerated(const std::vector<double>& rewards, int k) {
  const auto n = static_cast<int>(rewards.size());
  std::vector<double> advantages;
  for (int i = 0; i < n; ++i) {
    double with = 0, without = 0;
    int sets_with = 0, sets_without = 0;
    for (uint32_t set = 0; set < (1U << n); ++set) {
      if (std::popcount(set) != k) continue;
      double largest = -INFINITY;
      for (int j = 0; j < n; ++j)
        if (set >> j & 1) largest = std::max(largest, rewards[static_cast<size_t>(j)]);
      (set >> i & 1 ? with : without) += largest;
      ++(set >> i & 1 ? sets_with : sets_without);
    }
    advantages.push_back(with / sets_with - without / sets_without);
  }
  return advantages;
}

std::vector<double> drawn_rewards(uint64_t key, int n) {
  RandomStream draws(key);
  std::vector<double> rewards;
  for (int i = 0; i < n; ++i) rewards.push_back(draws.below(3) == 0 ? 0.0 : 4 * draws.uniform() - 1);
  return rewards;
}

}  // namespace

TEST_CASE("max@k: what all sets of k say, without going through them") {
  for (int n = 2; n <= 10; ++n)
    for (int k = 1; k < n; ++k)
      for (uint64_t key = 0; key < 4; ++key) {
        INFO(n << " rewards, k " << k << ", key " << key);
        const std::vector<double> rewards = drawn_rewards(mix_key({key, static_cast<uint64_t>(n)}), n);
        const std::vector<double> expected = enumerated(rewards, k), found = max_at_k_advantages(rewards, k);
        double sum = 0;
        for (size_t i = 0; i < rewards.size(); ++i) {
          CHECK(found[i] == Approx(expected[i]).margin(1e-13));
          sum += found[i];
        }
        CHECK(std::abs(sum) < 1e-12);
      }
}

TEST_CASE("max@k: the estimate of the gradient has the right mean") {
  // A policy over three answers worth 0, 1 and 3, drawn n times: the mean over all draws of the estimate is
  // the derivative of the expected largest of k, by the logit of each answer.
  const std::vector<double> worth = {0, 1, 3}, p = {0.5, 0.3, 0.2};
  constexpr int n = 4, k = 2;
  std::vector<double> estimate(3, 0);
  for (int code = 0; code < 81; ++code) {
    std::vector<size_t> answers;
    for (int i = 0, rest = code; i < n; ++i, rest /= 3) answers.push_back(static_cast<size_t>(rest % 3));
    double chance = 1;
    std::vector<double> rewards;
    for (const size_t answer : answers) {
      chance *= p[answer];
      rewards.push_back(worth[answer]);
    }
    const std::vector<double> advantages = max_at_k_advantages(rewards, k);
    for (size_t i = 0; i < answers.size(); ++i)
      for (size_t logit = 0; logit < 3; ++logit)
        estimate[logit] += chance * k / n * advantages[i] * ((answers[i] == logit) - p[logit]);
  }
  const auto expected_largest = [&](const std::vector<double>& q) {
    double mean = 0;
    for (size_t a = 0; a < 3; ++a)
      for (size_t b = 0; b < 3; ++b) mean += q[a] * q[b] * std::max(worth[a], worth[b]);
    return mean;
  };
  for (size_t logit = 0; logit < 3; ++logit) {
    const auto moved = [&](double by) {
      std::vector<double> q = p;
      q[logit] *= std::exp(by);
      const double sum = q[0] + q[1] + q[2];
      for (double& each : q) each /= sum;
      return expected_largest(q);
    };
    CHECK(estimate[logit] == Approx((moved(1e-5) - moved(-1e-5)) / 2e-5).epsilon(1e-7));
  }
}

TEST_CASE("max@k: k 1 is leave-one-out, and a large k asks for the best alone") {
  const auto group = [](std::vector<double> values, AdvantageKind kind, int64_t k) {
    std::vector<Reward> rewards;
    for (const double value : values)
      rewards.push_back({.value = value, .masked = false, .mask_reason = "", .terms = {}});
    return group_advantage({kind, k}, rewards, 0).advantages;
  };
  const std::vector<double> values = {0, 1, 1, 2.5};
  const auto one = group(values, AdvantageKind::kMaxAtK, 1),
             loo = group(values, AdvantageKind::kLeaveOneOut, 1);
  for (size_t i = 0; i < values.size(); ++i) CHECK(one[i] == Approx(loo[i]).margin(1e-14));
  // Right but slower than the best: hardly better than wrong, where the best of three counts.
  const auto best = group(values, AdvantageKind::kMaxAtK, 3);
  CHECK(best[3] == Approx(1.5));
  CHECK(best[1] == Approx(-0.5));
  CHECK(best[0] == Approx(-0.5));
  CHECK(group(values, AdvantageKind::kMaxAtK, 9) == best);  // n - 1 is the most
}

TEST_CASE("max@k: masked members have no part in it") {
  std::vector<Reward> rewards(5);
  for (size_t i = 0; i < 5; ++i) rewards[i].value = static_cast<double>(i);
  rewards[4].masked = true;
  const GroupAdvantage group = group_advantage({AdvantageKind::kMaxAtK, 2}, rewards, 0);
  const std::vector<double> alone = max_at_k_advantages({0, 1, 2, 3}, 2);
  for (size_t i = 0; i < 4; ++i) CHECK(group.advantages[i] == alone[i]);
  CHECK(group.advantages[4] == 0);
  CHECK(group.weights[4] == 0);
  // A large group overflows nothing.
  const std::vector<double> many = max_at_k_advantages(drawn_rewards(1, 1200), 600);
  CHECK(std::ranges::all_of(many, [](double a) { return std::isfinite(a); }));
}

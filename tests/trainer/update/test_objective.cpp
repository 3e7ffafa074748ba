#include "tests/trainer/fixtures.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::WithinAbs;

namespace {

// One token: value and derivative of its terms in logp_new.
struct Token {
  double policy, kl, policy_slope, kl_slope;
  bool clipped;
};

Token token_terms(double fresh, double old, double advantage, const SurrogateSettings& settings) {
  const auto tensor = [](double x) { return at::full({1}, x, at::kDouble); };
  const auto slope = [&](bool of_kl) {
    auto x = tensor(fresh).requires_grad_(true);
    const auto terms = surrogate_terms(x, tensor(old), tensor(old), tensor(advantage), settings);
    (of_kl ? terms.kl : terms.policy).sum().backward();
    return x.grad().item<double>();
  };
  const auto terms = surrogate_terms(tensor(fresh), tensor(old), tensor(old), tensor(advantage), settings);
  return {terms.policy.item<double>(), terms.kl.item<double>(), slope(false), slope(true),
          terms.clipped.item<bool>()};
}

}  // namespace

TEST_CASE("clipped policy terms follow the closed form") {
  SurrogateSettings s;
  s.clip_low = 0.1;
  s.clip_high = 0.3;
  const double old = -2;
  for (double d : {-0.5, -0.05, 0.0, 0.2, 0.5}) {
    for (double advantage : {-1.5, 2.0}) {
      const double ratio = std::exp(d), bounded = std::min(std::max(ratio, 0.9), 1.3);
      const bool held = bounded * advantage < ratio * advantage;
      const Token t = token_terms(old + d, old, advantage, s);
      INFO("d " << d << ", advantage " << advantage);
      CHECK_THAT(t.policy, WithinAbs(-std::min(ratio * advantage, bounded * advantage), 1e-12));
      CHECK_THAT(t.policy_slope, WithinAbs(held ? 0.0 : -ratio * advantage, 1e-12));
      CHECK(t.clipped == held);
    }
  }
}

TEST_CASE("a second clip bounds what a negative advantage pushes") {
  SurrogateSettings s;
  s.dual_clip = 3;
  for (double ratio : {0.5, 1.1, 2.9, 3.1, 50.0})
    for (double advantage : {-1.5, 2.0}) {
      const double bounded = std::min(std::max(ratio, 0.8), 1.2);
      const bool far = advantage < 0 && ratio > 3;
      const double gain = far ? 3 * advantage : std::min(ratio * advantage, bounded * advantage);
      const bool held = far || bounded * advantage < ratio * advantage;
      const Token t = token_terms(-5 + std::log(ratio), -5, advantage, s);
      INFO("ratio " << ratio << ", advantage " << advantage);
      CHECK_THAT(t.policy, WithinAbs(-gain, 1e-12));
      CHECK_THAT(t.policy_slope, WithinAbs(held ? 0.0 : -ratio * advantage, 1e-12));
      CHECK(t.clipped == held);
    }
}

TEST_CASE("a log-ratio beyond 10 stays finite and has no gradient") {
  SurrogateSettings s;
  const Token t = token_terms(-1, -60, -1, s);  // a negative advantage is not clipped from above
  CHECK_THAT(t.policy, WithinAbs(std::exp(10.0), 1e-6));
  CHECK(t.policy_slope == 0);
  CHECK(std::isfinite(t.kl));
}

TEST_CASE("KL estimators follow their closed forms") {
  SurrogateSettings s;
  for (double d : {-0.7, 0.0, 1e-4, 0.4}) {
    const auto with = [&](KlEstimator estimator) {
      s.kl_estimator = estimator;
      return token_terms(-1 + d, -1, 0, s);
    };
    CHECK_THAT(with(KlEstimator::kK1).kl, WithinAbs(d, 1e-12));
    CHECK_THAT(with(KlEstimator::kK1).kl_slope, WithinAbs(d, 1e-12));  // that of the divergence
    CHECK_THAT(with(KlEstimator::kK2).kl, WithinAbs(d * d / 2, 1e-12));
    CHECK_THAT(with(KlEstimator::kK2).kl_slope, WithinAbs(d, 1e-12));
    CHECK_THAT(with(KlEstimator::kK3).kl, WithinAbs(std::exp(-d) - 1 + d, 1e-12));
    CHECK_THAT(with(KlEstimator::kK3).kl_slope, WithinAbs(1 - std::exp(-d), 1e-12));
  }
}

TEST_CASE("normalisers count the whole minibatch and leave empty sequences out") {
  SurrogateSettings s;
  ScoredCounts minibatch;
  for (int64_t scored : {4, 0, 12}) minibatch.add(scored);
  const auto scales = [&] {
    return std::vector<double>{sequence_scale(4, minibatch, s), sequence_scale(0, minibatch, s),
                               sequence_scale(12, minibatch, s)};
  };
  s.normaliser = Normaliser::kTokens;
  CHECK(scales() == std::vector<double>{1.0 / 16, 0, 1.0 / 16});
  s.normaliser = Normaliser::kSequences;
  CHECK(scales() == std::vector<double>{1.0 / 8, 0, 1.0 / 24});
  s.normaliser = Normaliser::kConstant;
  s.normaliser_tokens = 100;
  CHECK(scales() == std::vector<double>{1.0 / 200, 0, 1.0 / 200});
}

TEST_CASE("without advantage nothing pulls on the policy") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2);
  auto experiences = random_experiences(config, 4);
  for (auto& e : experiences) e.advantage = 0;
  UpdaterSettings settings = still_settings();
  settings.surrogate.kl_weight = 0;
  const Gradient g = gradient_of(policy, experiences, settings);
  CHECK(g.flat.abs().max().item<double>() == 0);
  CHECK(g.statistics[UpdateRow::kTrainedTokens] > 0);
  // Towards a behaviour policy that differs, the KL term alone still pulls.
  settings.surrogate.kl_weight = 0.1;
  CHECK(gradient_of(policy, experiences, settings).flat.norm().item<double>() > 1e-4);
}

TEST_CASE("statistics are means per scored token, also over several packs") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2);
  const auto experiences = random_experiences(config, 4, &policy);
  UpdaterSettings settings = still_settings();
  settings.tokens_per_pack = 40;
  const auto s = gradient_of(policy, experiences, settings).statistics;
  double gain = 0, tokens = 0, entropy_bound = std::log(kAssigned - 1.0);
  for (const auto& e : experiences) {
    for (int32_t step : e.rollout.step_map) {
      gain += step > 0 ? e.advantage : 0;
      tokens += step > 0 ? 1 : 0;
    }
  }
  CHECK(static_cast<double>(s[UpdateRow::kTrainedTokens]) == tokens);
  CHECK_THAT(s[UpdateRow::kLoss], WithinAbs(-gain / tokens, 1e-5));  // at ratio 1
  CHECK(s[UpdateRow::kEntropy] > 0);
  CHECK(s[UpdateRow::kEntropy] < entropy_bound);
  CHECK(s[UpdateRow::kUpdates] == 1);
}

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <set>

#include "common/rng.h"
#include "rollout/decoding/sampling.h"

namespace bicrl {
namespace {

// Log of the given weights: the policy's probabilities at temperature 1 are the weights' shares.
at::Tensor logits_of(const std::vector<double>& weights) {
  return at::tensor(weights, at::kDouble).log().to(at::kFloat).unsqueeze(0);
}

at::Tensor all_allowed(int64_t vocab) { return at::ones({vocab}, at::kBool); }

// How often each id is drawn in `count` draws with a fixed seed.
std::vector<int64_t> draw_counts(const at::Tensor& logits, const at::Tensor& allowed,
                                 const SamplingSettings& settings, int64_t count) {
  std::vector<double> uniforms;
  for (int64_t i = 0; i < count; ++i) uniforms.push_back(uniform_at(99, static_cast<uint64_t>(i)));
  const Candidates drawn = sample_candidates(logits.expand({count, logits.size(1)}), allowed,
                                             at::tensor(uniforms, at::kDouble), settings);
  std::vector<int64_t> counts(logits.size(1), 0);
  for (int64_t i = 0; i < count; ++i) ++counts[drawn.tokens[i].item<int64_t>()];
  return counts;
}

// Pearson's statistic against expected shares; ids of share 0 must not be drawn at all.
double chi_square(const std::vector<int64_t>& counts, const std::vector<double>& shares) {
  double total = 0, statistic = 0, mass = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += static_cast<double>(counts[i]);
    mass += shares[i];
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * shares[i] / mass;
    if (shares[i] == 0) {
      CHECK(counts[i] == 0);
    } else {
      statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
  }
  return statistic;
}

const std::vector<double> kWeights = {0.05, 0.30, 0.10, 0.20, 0.15, 0.08, 0.12};
// 0.999 quantile for 6 degrees of freedom; fewer categories have lower ones.
constexpr double kUnlikely = 22.5;

}  // namespace

TEST_CASE("draws follow the policy's distribution at the temperature", "[sampling]") {
  SamplingSettings settings;
  CHECK(chi_square(draw_counts(logits_of(kWeights), all_allowed(7), settings, 20000), kWeights) < kUnlikely);
  settings.temperature = 2.0;
  std::vector<double> flat;
  for (double w : kWeights) flat.push_back(std::sqrt(w));
  CHECK(chi_square(draw_counts(logits_of(kWeights), all_allowed(7), settings, 20000), flat) < kUnlikely);
  CHECK(chi_square(draw_counts(logits_of(kWeights), all_allowed(7), settings, 20000), kWeights) > kUnlikely);
}

TEST_CASE("top-k and top-p restrict the drawing, and keep ties and the first", "[sampling]") {
  SamplingSettings settings;
  settings.top_k = 3;
  CHECK(chi_square(draw_counts(logits_of(kWeights), all_allowed(7), settings, 20000),
                   {0, .30, 0, .20, .15, 0, 0}) < kUnlikely);
  settings.top_k = 0;
  settings.top_p = 0.6;  // 0.30 + 0.20 + 0.15 is the smallest set that reaches it
  CHECK(chi_square(draw_counts(logits_of(kWeights), all_allowed(7), settings, 20000),
                   {0, .30, 0, .20, .15, 0, 0}) < kUnlikely);
  settings.top_p = 0.0;
  CHECK(draw_counts(logits_of(kWeights), all_allowed(7), settings, 100)[1] == 100);
  // After top-k, top_p is a share of what is left: 0.3 / 0.65 < 0.7 <= 0.5 / 0.65.
  settings.top_k = 3;
  settings.top_p = 0.7;
  CHECK(chi_square(draw_counts(logits_of(kWeights), all_allowed(7), settings, 20000),
                   {0, .30, 0, .20, 0, 0, 0}) < kUnlikely);
  settings = {};
  settings.top_k = 2;
  const auto ties = draw_counts(logits_of({0.2, 0.4, 0.2, 0.2}), all_allowed(4), settings, 1000);
  CHECK((ties[0] > 0 && ties[2] > 0 && ties[3] > 0));
}

TEST_CASE("ids that are not allowed are never drawn, whatever the uniform", "[sampling]") {
  at::Tensor allowed = all_allowed(7);
  allowed[1] = false;
  allowed[6] = false;
  std::vector<double> shares = kWeights;
  shares[1] = shares[6] = 0;
  CHECK(chi_square(draw_counts(logits_of(kWeights), allowed, {}, 20000), shares) < kUnlikely);
  const at::Tensor edges = at::tensor(std::vector<double>{0.0, 1.0 - 0x1p-53}, at::kDouble);
  const Candidates drawn = sample_candidates(logits_of(kWeights).expand({2, 7}), allowed, edges, {});
  CHECK(drawn.tokens[0].item<int64_t>() == 0);
  CHECK(drawn.tokens[1].item<int64_t>() == 5);
  SamplingSettings greedy;
  greedy.temperature = 0;
  CHECK(
      sample_candidates(logits_of(kWeights), allowed, edges.narrow(0, 0, 1), greedy).tokens.item<int64_t>() ==
      3);
}

TEST_CASE("greedy takes the first of the most probable, judged at temperature 1", "[sampling]") {
  SamplingSettings greedy;
  greedy.temperature = 0;
  const Candidates drawn =
      sample_candidates(logits_of({0.1, 0.4, 0.4, 0.1}), all_allowed(4), at::zeros({1}, at::kDouble), greedy);
  CHECK(drawn.tokens.item<int64_t>() == 1);
  CHECK(std::abs(drawn.log_probs.item<double>() - std::log(0.4)) < 1e-6);
  CHECK(std::abs(drawn.confidence.item<double>() - 0.4) < 1e-6);
}

TEST_CASE("confidence and log-probability ignore the restriction unless the published behaviour is asked for",
          "[sampling]") {
  SamplingSettings settings;
  settings.top_k = 3;
  const at::Tensor uniform = at::full({1}, 0.99, at::kDouble);  // draws id 4
  Candidates drawn = sample_candidates(logits_of(kWeights), all_allowed(7), uniform, settings);
  CHECK(drawn.tokens.item<int64_t>() == 4);
  CHECK(std::abs(drawn.confidence.item<double>() - 0.15) < 1e-6);
  settings.reference_confidence = true;
  drawn = sample_candidates(logits_of(kWeights), all_allowed(7), uniform, settings);
  CHECK(std::abs(drawn.confidence.item<double>() - 0.15 / 0.65) < 1e-6);
  CHECK(std::abs(drawn.log_probs.item<double>() - std::log(0.15)) < 1e-6);
  settings.top_k = 1;
  CHECK(sample_candidates(logits_of(kWeights), all_allowed(7), uniform, settings).confidence.item<double>() ==
        1.0);
}

}  // namespace bicrl

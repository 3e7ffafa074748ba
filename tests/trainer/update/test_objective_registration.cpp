// An objective in a file of its own: from its registration to an update, its figures, and what it scores at a
// position.
#include "tests/trainer/fixtures.h"
#include "trainer/run/reports/step_metrics.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/rng.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

// The score-function estimator without a ratio: advantages times log-probabilities, in the sampler's
// contexts. With `score_excluded` it scores at every position that it drew none of so many lowest ids.
class ScoreFunction : public Objective {
 public:
  explicit ScoreFunction(const ConfigSection& section)
      : excluded_(section.integer("score_excluded", 0, 0, kVocab)) {}

  LiveSequence sequence(const Experience& experience, const PolicyConfig& config,
                        const UpdateKey&) const override {
    LiveSequence sequence = rollout_sequence(experience, config, 1);
    if (excluded_ == 0) return sequence;
    for (NoisyBlock& noisy : sequence.noisy)
      for (ScoredToken& token : noisy.scored) {
        token.label = 0;
        token.excluded.resize(static_cast<size_t>(excluded_));
        std::iota(token.excluded.begin(), token.excluded.end(), int64_t{0});
      }
    return sequence;
  }
  int64_t rounds_of_block(int64_t denoise_steps) const override { return denoise_steps; }
  bool has_sampler_contexts() const override { return true; }
  bool scores_every_token() const override { return true; }

  TokenLosses losses(const ScoredTokens& tokens, const SurrogateSettings&) const override {
    TokenLosses terms{.losses = -tokens.advantages * tokens.chunk.log_probs,
                      .log_likelihoods = tokens.chunk.log_probs,
                      .figures = {tokens.chunk.log_probs.detach().sum()}};
    if (excluded_ > 0) {
      const at::Tensor mass = -tokens.chunk.log_probs.detach().expm1();
      terms.figures.insert(terms.figures.end(), {mass.sum(), mass.max()});
    }
    return terms;
  }
  std::vector<UpdateFigure> figures() const override {
    std::vector<UpdateFigure> rows = {{.key = "mean_log_prob", .digits = 2, .text = " | log p {}"}};
    if (excluded_ == 0) return rows;
    rows.push_back({.key = "excluded_mass", .sum = UpdateSum::kTotal});
    rows.push_back({.key = "excluded_mass_largest", .sum = UpdateSum::kLargest});
    return rows;
  }

 private:
  int64_t excluded_;
};

const ObjectiveRegistration kScoreFunctionRegistered("score_function", {"score_excluded"},
                                                     [](const ConfigSection& section) {
                                                       return std::make_shared<ScoreFunction>(section);
                                                     });

UpdaterSettings settings_with(const std::string& yaml) {
  UpdaterSettings settings = still_settings();
  settings.tokens_per_pack = 60;
  settings.objective = objective_of(yaml);
  return settings;
}

struct Mean {
  double sum = 0, count = 0;
  void add(double value) {
    sum += value;
    count += 1;
  }
  double value() const { return sum / count; }
};

}  // namespace

TEST_CASE("a registered objective trains with its own gradient and reports its own figure") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2);
  const auto experiences = random_experiences(config, 4, &policy);
  Mean log_prob;
  for (const Experience& e : experiences)
    for (size_t i = 0; i < e.rollout.step_map.size(); ++i)
      if (e.rollout.step_map[i] > 0) log_prob.add(e.rollout.log_probs[i]);
  // At ratio 1 the clipped surrogate has the score function's gradient.
  const Gradient surrogate = gradient_of(policy, experiences, settings_with("{objective: trace}"));
  const Gradient own = gradient_of(policy, experiences, settings_with("{objective: score_function}"));
  CHECK(relative_difference(own.flat, surrogate.flat) < 1e-5);
  CHECK(own.flat.norm().item<double>() > 1e-3);
  CHECK_THAT(own.statistics["mean_log_prob"], WithinAbs(log_prob.value(), 1e-5));
  CHECK(own.statistics[UpdateRow::kTrainedTokens] == log_prob.count);
  CHECK_THROWS_AS(own.statistics["kl"], Error);  // which is no figure of this objective
}

TEST_CASE("a registered objective's figure reaches the step line and metrics.jsonl") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2);
  const auto experiences = random_experiences(config, 4, &policy);
  StepMetrics metrics;
  metrics.responses.emplace();
  metrics.update = gradient_of(policy, experiences, settings_with("{objective: score_function}")).statistics;
  const double value = metrics.update["mean_log_prob"];
  char text[32];
  snprintf(text, sizeof text, " | log p %.2f | gap ", value);
  CHECK_THAT(step_line(metrics, 0), ContainsSubstring(text) && !ContainsSubstring("| kl "));
  const nlohmann::json json = to_json(metrics);
  CHECK(json.at("mean_log_prob") == value);
  CHECK_FALSE(json.contains("kl"));
}

TEST_CASE("an objective scores that positions drew none of several ids") {
  const PolicyConfig config = tiny_config(4);
  constexpr int64_t kExcluded = 5;
  Transformer policy = tiny_policy(config, 2);
  double total = 0, largest = 0;
  Mean log_mass;
  std::vector<Experience> experiences;
  for (uint64_t key = 0; key < 5; ++key) {
    const TraceShape shape{.prompt_tokens = 8, .response_blocks = 1};
    experiences.push_back(random_experience(config, shape, key, 1.0, &policy));
    const Rollout& r = experiences.back().rollout;
    for (int64_t offset = 0; offset < config.block_size; ++offset) {
      // As the sampler saw the block when it accepted this token.
      std::vector<int64_t> block;
      for (size_t i = 0; i < r.step_map.size(); ++i)
        block.push_back(r.step_map[i] < r.step_map[offset] ? r.tokens[8 + i] : config.mask_token_id);
      const at::Tensor row =
          block_log_probs(policy, {r.tokens.begin(), r.tokens.begin() + 8}, block, 1)[offset].exp();
      const double mass = row.slice(0, 0, kExcluded).sum().item<double>();
      total += mass;
      largest = std::max(largest, mass);
      log_mass.add(std::log(row.slice(0, kExcluded).sum().item<double>()));
    }
  }
  const UpdateStatistics s =
      gradient_of(policy, experiences,
                  settings_with(concat("{objective: score_function, score_excluded: ", kExcluded, "}")))
          .statistics;
  CHECK_THAT(s["excluded_mass"], WithinAbs(total, 1e-5));
  CHECK_THAT(s["excluded_mass_largest"], WithinAbs(largest, 1e-6));
  CHECK_THAT(s["mean_log_prob"], WithinAbs(log_mass.value(), 1e-5));
  CHECK(total > 0.5);
}

TEST_CASE("objectives refuse unknown names, and parameters of one another") {
  CHECK(objective_names() ==
        std::vector<std::string>{"coupled", "draws", "exact", "random_masking", "score_function", "trace"});
  CHECK_THROWS_AS(objective_of("{objective: traces}"), InputError);
  CHECK_THROWS_AS(objective_of("{objective: trace, shrink: 0}"), InputError);
  CHECK(objective_of("{shrink: 3}")->rounds_of_block(8) == 3);
  for (const char* other : {"coupled", "draws", "exact", "random_masking", "score_function"})
    CHECK_THROWS_WITH(objective_of(concat("{objective: ", other, ", shrink: 2}")),
                      ContainsSubstring("shrink") && ContainsSubstring("without 'objective: trace'"));
  CHECK_THROWS_WITH(objective_of("{score_excluded: 2}"),
                    ContainsSubstring("without 'objective: score_function'"));
  CHECK_THROWS_AS(ObjectiveRegistration("trace", {}, {}), Error);
}

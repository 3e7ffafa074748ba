// What a step's updates are made of: responses, those of groups without variance among them, then imitated
// batches; and the rate of each.
#include "tests/trainer/fixtures.h"

#include <catch2/catch_test_macros.hpp>

using namespace bicrl;
using namespace bicrl::testing;

namespace {

std::vector<SupervisedBatch> two_batches(const PolicyConfig& config) {
  std::vector<SupervisedBatch> batches(2);
  for (uint64_t i = 0; i < 5; ++i) {
    SftSample sample = make_sft_sample({2, 3, 4}, {5, 6, 7, kEnd}, config, i);
    SupervisedBatch& batch = batches[i % 2];
    batch.supervised_tokens += sample.response_tokens;
    batch.mine.push_back(std::move(sample));
  }
  return batches;
}

// The updates of one step.
struct Step {
  std::vector<at::Tensor> gradients;
  UpdateStatistics statistics;
};

Step step_of(Transformer& policy, const UpdaterSettings& settings, const std::vector<Experience>& experiences,
             const std::vector<SupervisedBatch>& imitated = {}, double step_scale = 1) {
  OneRank alone;
  PolicyUpdater updater(policy, tiny_allowed(policy.config()), settings, alone.control, alone.tensors);
  Step step;
  updater.observe_gradients([&](const std::vector<at::Tensor>& g) { step.gradients.push_back(flat(g)); });
  const UpdateTotals totals = updater.reinforce(experiences, {shares_of(experiences)}, imitated, step_scale);
  step.statistics = over_ranks(totals, alone.control);
  return step;
}

// How far one step moves a policy.
at::Tensor movement(const UpdaterSettings& settings, double step_scale) {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2);
  const at::Tensor before = flat_values(policy).clone();
  step_of(policy, settings, random_experiences(config, 3), {}, step_scale);
  return flat_values(policy) - before;
}

int64_t scored_tokens(const std::vector<Experience>& experiences) {
  int64_t tokens = 0;
  for (const Experience& e : experiences) tokens += e.rollout.scored_tokens();
  return tokens;
}

}  // namespace

TEST_CASE("groups that are kept add the divergence's gradient, and their tokens to the normaliser") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 1), reference = tiny_policy(config, 2);
  UpdaterSettings settings = still_settings();
  settings.surrogate.kl_weight = 0.3;
  settings.surrogate.kl_reference = KlReference::kInitial;
  const std::vector<Experience> all = [&] {
    std::vector<Experience> experiences = random_experiences(config, 8);
    for (Experience& e : experiences)
      if (e.group >= 2) e.advantage = 0;
    return experiences;
  }();
  std::vector<Experience> informative, kept;
  for (const Experience& e : all) (e.group < 2 ? informative : kept).push_back(e);
  const auto gradient = [&](const std::vector<Experience>& experiences) {
    return gradient_of(policy, experiences, settings, &reference).flat;
  };
  const at::Tensor whole = gradient(all), taught = gradient(informative), held = gradient(kept);
  const auto tokens = static_cast<double>(scored_tokens(all)),
             own = static_cast<double>(scored_tokens(informative));
  CHECK(relative_difference(whole, taught * (own / tokens) + held * (1 - own / tokens)) < 1e-6);
  CHECK(held.norm().item<double>() > 1e-3);
  // Nothing but the divergence: without it there is no gradient, and it grows with the weight.
  settings.surrogate.kl_weight = 0.6;
  CHECK(relative_difference(gradient(kept), held * 2) < 1e-6);
  settings.surrogate.kl_weight = 0;
  CHECK(gradient(kept).norm().item<double>() == 0);
}

TEST_CASE("imitated batches are an update each, and the only ones of a step without responses") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 1);
  const auto experiences = random_experiences(config, 3);
  const auto batches = two_batches(config);
  const Step both = step_of(policy, still_settings(), experiences, batches);
  const Step responses = step_of(policy, still_settings(), experiences);
  const Step alone = step_of(policy, still_settings(), {}, batches);
  REQUIRE(both.gradients.size() == 3);
  REQUIRE(responses.gradients.size() == 1);
  REQUIRE(alone.gradients.size() == 2);
  CHECK(at::equal(both.gradients[0], responses.gradients[0]));
  for (size_t i = 0; i < 2; ++i) CHECK(at::equal(both.gradients[i + 1], alone.gradients[i]));
  CHECK(both.statistics.has_reinforced());
  CHECK_FALSE(alone.statistics.has_reinforced());
  CHECK(alone.statistics[UpdateRow::kImitationUpdates] == 2);
  CHECK(alone.statistics[UpdateRow::kImitationNorm] > 0);
  CHECK(step_of(policy, still_settings(), {}).gradients.empty());
}

TEST_CASE("a scaled step has the rate times its scale, and imitates at the whole rate") {
  const PolicyConfig config = tiny_config(4);
  UpdaterSettings settings;
  settings.learning_rate.peak = 1e-3;
  settings.tokens_per_pack = 100'000;
  const at::Tensor whole = movement(settings, 1);
  CHECK(whole.norm().item<double>() > 1e-3);
  CHECK(relative_difference(movement(settings, 0.25), whole * 0.25) < 1e-6);
  CHECK(movement(settings, 0).norm().item<double>() == 0);
  Transformer policy = tiny_policy(config, 2);
  const auto experiences = random_experiences(config, 3);
  const Step scaled = step_of(policy, settings, experiences, {}, 0.25);
  CHECK(scaled.statistics[UpdateRow::kLearningRate] == 0.25e-3);
  CHECK(scaled.statistics[UpdateRow::kStepScale] == 0.25);
  const Step imitating = step_of(policy, settings, experiences, two_batches(config), 0.25);
  CHECK(imitating.statistics[UpdateRow::kLearningRate] == 1e-3);
  CHECK(imitating.statistics[UpdateRow::kStepScale] == 0.25);
}

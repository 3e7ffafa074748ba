#include "tests/trainer/fixtures.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "common/config/config.h"
#include "common/error.h"
#include "trainer/update/operator_pass.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

UpdaterSettings moving_settings() {
  UpdaterSettings s;
  s.learning_rate.peak = 1e-3;
  return s;
}

std::string checksum_after(const UpdaterSettings& settings, int64_t steps) {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2, at::kFloat);
  OneRank alone;
  PolicyUpdater updater(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
  for (int64_t i = 0; i < steps; ++i) reinforce(updater, random_experiences(config, 50 + i));
  return updater.parameter_checksum();
}

}  // namespace

TEST_CASE("two runs end with the same bits") {
  UpdaterSettings settings = moving_settings();
  settings.responses_per_update = 5;
  settings.epochs = 2;
  settings.tokens_per_pack = 100;
  CHECK(checksum_after(settings, 3) == checksum_after(settings, 3));
  const auto before = checksum_after(settings, 3);
  settings.seed = 1;  // another dealing of responses to updates
  CHECK(checksum_after(settings, 3) != before);
}

TEST_CASE("a step is split into the updates that were asked for") {
  const PolicyConfig config = tiny_config(4);
  const auto experiences = random_experiences(config, 3);  // 12 responses
  Transformer policy = tiny_policy(config, 2, at::kFloat);
  OneRank alone;
  UpdaterSettings settings = moving_settings();
  settings.responses_per_update = 5;
  settings.epochs = 2;
  PolicyUpdater updater(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
  int64_t observed = 0;
  updater.observe_gradients([&](const std::vector<at::Tensor>&) { ++observed; });
  const auto s = reinforce(updater, experiences);
  CHECK(s[UpdateRow::kUpdates] == 6);
  CHECK(observed == 6);
  int64_t scored = 0;
  for (const auto& e : experiences) scored += rollout_sequence(e, config, 1).scored_tokens();
  CHECK(s[UpdateRow::kTrainedTokens] == 2 * scored);
}

TEST_CASE("reinforcement makes rewarded responses likelier and punished ones less likely") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2, at::kFloat);
  OneRank alone;
  UpdaterSettings settings = moving_settings();
  PolicyUpdater updater(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
  const auto log_prob = [&](const Experience& e) {
    OperatorPass pass(policy, tiny_allowed(config));
    return pass.log_probs(pack({rollout_sequence(e, config, 1)}, {1.0}, {.tokens_per_pack = 1000})[0], 1.0)
        .sum()
        .item<double>();
  };
  auto experiences = random_experiences(config, 3, &policy);
  experiences.resize(2);
  experiences[0].advantage = 1;
  experiences[1].advantage = -1;
  const double good = log_prob(experiences[0]), bad = log_prob(experiences[1]);
  for (int i = 0; i < 5; ++i) reinforce(updater, experiences);
  CHECK(log_prob(experiences[0]) > good + 0.1);
  CHECK(log_prob(experiences[1]) < bad - 0.1);
}

TEST_CASE("nothing to learn from changes nothing") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2, at::kFloat);
  OneRank alone;
  PolicyUpdater updater(policy, tiny_allowed(config), moving_settings(), alone.control, alone.tensors);
  const auto before = updater.parameter_checksum();
  auto unscored = random_experiences(config, 3);
  for (auto& e : unscored) e.rollout.step_map.assign(e.rollout.step_map.size(), 0);
  for (const auto& statistics :
       {reinforce(updater, {}), reinforce(updater, unscored), supervise(updater, {})}) {
    CHECK(statistics[UpdateRow::kUpdates] == 0);
    CHECK(statistics[UpdateRow::kTrainedTokens] == 0);
    CHECK(std::isfinite(statistics[UpdateRow::kLoss]));
  }
  CHECK(updater.parameter_checksum() == before);
}

TEST_CASE("an update leaves no gradient behind") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2, at::kFloat);
  OneRank alone;
  PolicyUpdater updater(policy, tiny_allowed(config), moving_settings(), alone.control, alone.tensors);
  reinforce(updater, random_experiences(config, 3));
  for (const auto& [name, parameter] : policy.parameters()) {
    CHECK_FALSE(parameter.requires_grad());
    CHECK_FALSE(parameter.grad().defined());
  }
}

TEST_CASE("a decay ends with the phase, however many updates a step makes") {
  const PolicyConfig config = tiny_config(4);
  OneRank alone;
  const auto document = ConfigDocument::from_text(
      "{learning_rate: 1.0e-3, learning_rate_decay: linear, min_learning_rate: 1.0e-4, "
      "responses_per_update: 4, epochs: 2}",
      "test.yaml");
  const int64_t steps = 5, responses = 12;
  const UpdaterSettings settings = UpdaterSettings::reinforced(document.root(), 1.0, steps, responses, 7);
  CHECK(settings.updates_per_step == 6);
  Transformer policy = tiny_policy(config, 2, at::kFloat);
  PolicyUpdater updater(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
  std::vector<double> rates;
  for (int64_t step = 0; step < steps; ++step) {
    auto experiences = random_experiences(config, 3);
    if (step == 1) experiences.resize(3);  // most groups taught nothing: fewer updates, the same schedule
    const UpdateStatistics s = reinforce(updater, experiences);
    CHECK(s[UpdateRow::kUpdates] == (step == 1 ? 2 : 6));
    rates.push_back(s[UpdateRow::kLearningRate]);
  }
  // The last update of step k has the place 6 k + 5 of 30, in the short step 6 + 1.
  const auto at_place = [](double place) { return 1e-3 - (1e-3 - 1e-4) * place / 30; };
  const double places[] = {5, 7, 17, 23, 29};
  for (size_t i = 0; i < rates.size(); ++i) CHECK(std::abs(rates[i] - at_place(places[i])) < 1e-9);
}

TEST_CASE("a resumed updater continues bit for bit") {
  const PolicyConfig config = tiny_config(4);
  OneRank alone;
  UpdaterSettings settings = moving_settings();
  settings.responses_per_update = 4;
  settings.learning_rate.decay = Decay::kLinear;
  settings.learning_rate.total_updates = 20;
  Transformer policy = tiny_policy(config, 2, at::kFloat), resumed = tiny_policy(config, 9, at::kFloat);
  PolicyUpdater first(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
  reinforce(first, random_experiences(config, 1));
  copy_parameters(policy, resumed);
  PolicyUpdater second(resumed, tiny_allowed(config), settings, alone.control, alone.tensors);
  second.import_state(first.export_state());
  reinforce(first, random_experiences(config, 2));
  reinforce(second, random_experiences(config, 2));
  CHECK(first.parameter_checksum() == second.parameter_checksum());
  CHECK_THROWS_AS(second.import_state({}), InputError);
}

TEST_CASE("a phase keeps the moments of the one before, or starts without") {
  const PolicyConfig config = tiny_config(4);
  OneRank alone;
  const auto checksum = [&](MomentsAtStart moments, bool adopted) {
    UpdaterSettings settings = moving_settings();
    Transformer policy = tiny_policy(config, 2, at::kFloat), other = tiny_policy(config, 9, at::kFloat);
    PolicyUpdater updater(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
    reinforce(updater, random_experiences(config, 1));
    settings.optimizer.moments = moments;
    if (!adopted) {
      updater.begin_phase(settings);
      reinforce(updater, random_experiences(config, 2));
      return updater.parameter_checksum();
    }
    // Another run that starts from this policy and its moments.
    copy_parameters(policy, other);
    PolicyUpdater second(other, tiny_allowed(config), settings, alone.control, alone.tensors);
    second.import_moments(updater.export_state());
    second.begin_phase(settings);
    reinforce(second, random_experiences(config, 2));
    return second.parameter_checksum();
  };
  const std::string kept = checksum(MomentsAtStart::kKeep, false);
  CHECK(checksum(MomentsAtStart::kKeep, true) == kept);
  const std::string reset = checksum(MomentsAtStart::kReset, false);
  CHECK(reset != kept);
  CHECK(checksum(MomentsAtStart::kReset, true) == reset);
}

TEST_CASE("updater settings come from the configuration, strictly") {
  const auto read = [](const std::string& yaml) {
    const auto document = ConfigDocument::from_text(yaml, "test.yaml");
    const auto settings = UpdaterSettings::reinforced(document.root(), 0.9, 100, 64, 7);
    document.finish();
    return settings;
  };
  const auto s = read(
      "{learning_rate: 0.01, learning_rate_decay: cosine, min_learning_rate: 0.001, warmup_updates: 5, "
      "clip_high: 0.28, dual_clip: 3, "
      "kl_estimator: k2, normaliser: constant, normaliser_tokens: 64, shrink: 2, responses_per_update: 32, "
      "optimizer: {beta2: 0.95, weight_decay: 0.1}}");
  CHECK(s.learning_rate.peak == 0.01);
  CHECK(s.learning_rate.decay == Decay::kCosine);
  CHECK(s.updates_per_step == 2);
  CHECK(s.learning_rate.total_updates == 200);
  CHECK(s.surrogate.clip_high == 0.28);
  CHECK(s.surrogate.dual_clip == 3);
  CHECK_THROWS_AS(read("{learning_rate: 0.01, clip_high: 0.28, dual_clip: 1.2}"), InputError);
  CHECK(s.surrogate.kl_estimator == KlEstimator::kK2);
  CHECK(s.surrogate.normaliser == Normaliser::kConstant);
  CHECK(s.surrogate.normaliser_tokens == 64);
  CHECK_FALSE(s.objective->has_sampler_contexts());  // for shrink: 2
  CHECK(s.surrogate.temperature == 0.9);
  CHECK(s.optimizer.beta2 == 0.95);
  CHECK(s.seed == 7);
  CHECK_THROWS_AS(read("{learning_rte: 0.01}"), InputError);
  CHECK_THROWS_AS(read("{learning_rate: -1}"), InputError);
  CHECK_THROWS_AS(read("{kl_estimator: k4}"), InputError);
  CHECK_THROWS_AS(read("{optimizer: {beta1: 1.5}}"), InputError);
}

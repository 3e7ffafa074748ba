// What an engine's steps on a GPU record of candidates that they did not accept.
#include "tests/trainer/fixtures.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"
#include "policy/distribution.h"
#include "rollout/gpu/graph_step.h"
#include "tests/policy_gpu/gpu_tensors.h"
#include "tests/rollout/tiny_decoding.h"
#include "trainer/update/gpu/kernel_pass.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;
const at::Device kGpu(at::kCUDA, 0);

// For the tiny tokenizer, of a shape that there are kernels for; peaked, so that thresholds are met.
PolicyConfig some_config() {
  PolicyConfig c = tiny_config(std::vector<int64_t>{7, 70}, 4);
  c.hidden_size = 96;
  c.layers = 3;
  c.heads = 6;
  c.kv_heads = 2;
  c.head_dim = 64;
  c.intermediate_size = 160;
  c.initializer_range = 0.15;
  c.max_position = 2048;
  return c;
}

DecodingSettings recording(AcceptanceStrategy strategy, CandidateTerms recorded) {
  DecodingSettings settings;
  settings.max_new_tokens = 40;
  settings.max_active = 16;
  settings.acceptance.strategy = strategy;
  settings.acceptance.threshold = 0.3;
  settings.recorded = recorded;
  return settings;
}

AcceptanceStrategy by_confidence() {
  return GENERATE(AcceptanceStrategy::kLowConfidenceDynamic, AcceptanceStrategy::kLowConfidenceStatic);
}

int64_t excluding_terms(const Rollout& rollout) {
  return std::ranges::count_if(rollout.candidates.excluded, [](int32_t count) { return count > 0; });
}

}  // namespace

TEST_CASE("recording what is rejected changes no response and is the same in every round",
          "[graph_step][recorded_steps][gpu]") {
  require_gpu();
  const Transformer policy = Transformer::random(some_config(), 5, kGpu, at::kBFloat16);
  const AcceptanceStrategy strategy = by_confidence();
  const auto settings = recording(strategy, CandidateTerms::kRejected);
  const auto requests = make_requests(10, 4, 30);
  DecodeEngine engine(policy, tiny_tokenizer()), other(policy, tiny_tokenizer());
  const auto unrecorded = rollouts_of(other, recording(strategy, CandidateTerms::kNone), requests);
  // Launched one by one, then recorded, then replayed, and under quotas queued ahead.
  const auto first = rollouts_of(engine, settings, requests);
  int64_t terms = 0;
  for (int round = 1; round < 4; ++round) {
    const auto again = rollouts_of(engine, settings, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      INFO("round " << round << ", request " << i);
      CHECK(identical(again[i], unrecorded[i]));
      CHECK(again[i].candidates == first[i].candidates);
      terms += excluding_terms(again[i]);
    }
  }
  CHECK(terms > 0);
  if (accepts_by_quota(strategy)) CHECK(engine.statistics().queued_ahead > 0);
  // The engine goes on without a record.
  const auto without = rollouts_of(engine, recording(strategy, CandidateTerms::kNone), requests);
  for (size_t i = 0; i < requests.size(); ++i) CHECK(identical(without[i], unrecorded[i]));
}

TEST_CASE("likelihoods that a GPU's steps record are those that an update scores",
          "[graph_step][recorded_steps][gpu]") {
  require_gpu();
  const PolicyConfig config = some_config();
  const Transformer policy = Transformer::random(config, 5, kGpu, at::kBFloat16);
  const auto requests = make_requests(12, 4, 9);
  DecodeEngine engine(policy, tiny_tokenizer());
  const auto objective = objective_of("{objective: exact}");
  std::vector<LiveSequence> sequences;
  for (Rollout& rollout :
       rollouts_of(engine, recording(by_confidence(), CandidateTerms::kRejected), requests)) {
    Experience experience;
    experience.rollout = std::move(rollout);
    experience.advantage = 1;
    sequences.push_back(objective->sequence(experience, config, {}));
  }
  const std::vector<double> scales(sequences.size(), 1.0);
  const PackedBatch batch = pack(sequences, scales, {.tokens_per_pack = 1 << 20, .device = kGpu})[0];
  REQUIRE(batch.excluded.defined());
  const at::Tensor allowed = allowed_ids(config, tiny_tokenizer().size(), kGpu);
  const at::Tensor gap =
      (KernelPass(policy, allowed, Recompute::kNone).log_probs(batch, 1.0) - batch.old_log_probs).abs();
  const at::Tensor excludes = batch.excluded > 0;
  const auto mean = [&](const at::Tensor& of) { return gap.masked_select(of).mean().item<double>(); };
  const double of_labels = mean(excludes.logical_not()), of_excluded = mean(excludes);
  WARN("mean gap of " << excludes.sum().item<int64_t>() << " terms that exclude ids " << of_excluded
                      << ", of " << batch.scored() << " terms in all " << gap.mean().item<double>());
  CHECK(excludes.sum().item<int64_t>() > 20);
  CHECK(of_excluded < 3 * of_labels + 0.02);
}

TEST_CASE("decoding kernels refuse to record draws under a restriction alone", "[graph_step]") {
  auto settings = recording(AcceptanceStrategy::kLowConfidenceDynamic, CandidateTerms::kRejected);
  CHECK_NOTHROW(GraphStep::require_recordable(settings));
  settings.sampling.top_k = 5;
  CHECK_THROWS_WITH(GraphStep::require_recordable(settings),
                    ContainsSubstring("'objective: exact'") && ContainsSubstring("'top_k'"));
  settings.recorded = CandidateTerms::kNone;
  CHECK_NOTHROW(GraphStep::require_recordable(settings));
}

TEST_CASE("room for what is rejected is counted", "[graph_step]") {
  const PolicyConfig config = some_config();
  EngineCapacity capacity{.sequences = 400, .pages = 100, .prefill_tokens = 64};
  const int64_t without = GraphStep::memory(config, capacity).fixed_bytes;
  capacity.keeps_distributions = true;
  // Logits of all 1600 masked positions instead of 512, and a scale for each.
  CHECK(GraphStep::memory(config, capacity).fixed_bytes - without ==
        (1600 - 512) * config.vocab_size * 4 + 1600 * 8);
}

}  // namespace bicrl

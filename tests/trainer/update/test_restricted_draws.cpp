// Responses that an engine samples under top-k or top-p, scored by an update under the same restriction.
#include "policy/distribution.h"
#include "rollout/decoding/decode_engine.h"
#include "tests/trainer/fixtures.h"
#include "tests/trainer/small_steps.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <set>

using namespace bicrl;
using namespace bicrl::testing;

namespace {

Rollout sampled(const DecodingSettings& settings) {
  GenerationRequest request;
  request.prompt_tokens = {1, 2, 3, 4, 5};
  Rollout sampled;
  DecodeEngine(policy(), tokenizer()).generate(settings, {request}, 0, [&](size_t, Rollout rollout) {
    sampled = std::move(rollout);
  });
  return sampled;
}

// The ids that each accepted token was drawn among, by token.
std::map<int64_t, std::set<int64_t>> kept_of_accepted(const Rollout& rollout) {
  std::map<int64_t, std::set<int64_t>> kept;
  const CandidateRecord& record = rollout.candidates;
  auto id = record.kept_ids.begin();
  for (int64_t i = 0; i < record.restricted_draws(); ++i) {
    const auto end = id + record.kept_counts[i];
    const int64_t token = record.kept_tokens[i];
    if (std::abs(rollout.step_map[token]) == record.kept_steps[i]) kept[token] = {id, end};
    id = end;
  }
  return kept;
}

}  // namespace

TEST_CASE("an update scores restricted draws as the sampler recorded them") {
  DecodingSettings settings = decoding();
  settings.max_new_tokens = 24;
  settings.acceptance.threshold = 0.02;
  SECTION("top-k") { settings.sampling.top_k = 5; }
  SECTION("top-p") { settings.sampling.top_p = 0.5; }
  SECTION("both, by a quota") {
    settings.sampling.top_k = 40;
    settings.sampling.top_p = 0.9;
    settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceStatic;
  }
  const Rollout unrecorded = sampled(settings);
  CHECK(unrecorded.candidates == CandidateRecord());
  for (const auto& [objective, kind] :
       {std::pair("draws", CandidateTerms::kDraws), std::pair("exact", CandidateTerms::kRejected)}) {
    INFO(objective);
    settings.recorded = kind;
    const Rollout rollout = sampled(settings);
    // The record changes no draw. Restricted likelihoods are above those of the whole distribution.
    CHECK(rollout.tokens == unrecorded.tokens);
    CHECK(rollout.step_map == unrecorded.step_map);
    const auto kept = kept_of_accepted(rollout);
    REQUIRE(std::ssize(kept) == rollout.response_tokens());
    for (const auto& [token, ids] : kept) {
      CHECK(ids.contains(rollout.tokens[rollout.prompt_tokens + token]));
      if (settings.sampling.top_k > 0) CHECK(std::ssize(ids) <= settings.sampling.top_k);
      if (rollout.step_map[token] > 0) CHECK(rollout.log_probs[token] > unrecorded.log_probs[token]);
    }

    Transformer trained = Transformer::random(policy().config(), 11, at::kCPU, at::kFloat);
    UpdaterSettings update = still_settings();
    update.objective = objective_of(std::string("{objective: ") + objective + "}");
    OneRank alone;
    PolicyUpdater updater(trained, allowed_ids(trained.config(), tokenizer().size(), at::kCPU), update,
                          alone.control, alone.tensors);
    Experience experience;
    experience.rollout = rollout;
    experience.advantage = 1;
    const UpdateStatistics statistics = reinforce(updater, {experience});
    CHECK(statistics[UpdateRow::kTrainedTokens] > 0);
    CHECK(statistics[UpdateRow::kLargestGap] < 1e-4);

    // Objectives that score all ids have no use for ratios under a part of them.
    update.objective = objective_of("{objective: trace}");
    updater.begin_phase(update, nullptr);
    CHECK_THROWS_AS(reinforce(updater, {experience}), InputError);
    update.objective = objective_of(std::string("{objective: ") + objective + "}");
    updater.begin_phase(update, nullptr);

    // What a token was drawn among has to be there.
    experience.rollout.candidates.kept_steps.back() += 100;
    if (kind == CandidateTerms::kDraws) CHECK_THROWS_AS(reinforce(updater, {experience}), InputError);
  }
}

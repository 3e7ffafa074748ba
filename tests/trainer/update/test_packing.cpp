#include "tests/trainer/fixtures.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "common/error.h"
#include "trainer/update/packing/packing.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

std::vector<LiveSequence> sequences_of(const std::vector<Experience>& experiences,
                                       const PolicyConfig& config) {
  std::vector<LiveSequence> all;
  for (const auto& e : experiences) all.push_back(rollout_sequence(e, config, 1));
  return all;
}

std::vector<PackedBatch> packed(const std::vector<LiveSequence>& sequences, int64_t budget) {
  return pack(sequences, std::vector<double>(sequences.size(), 1.0), {.tokens_per_pack = budget});
}

Experience worked_example(const PolicyConfig& config) {
  // Prompt of 6 tokens; block 1 holds its tail and 2 response tokens, blocks 2 and 3 the rest; end token
  // at 13.
  Experience e;
  e.advantage = 0.5;
  e.rollout.tokens = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, config.first_end_token(), 15, 16};
  e.rollout.prompt_tokens = 6;
  e.rollout.step_map = {1, 1, 3, 2, 4, 2, 5, 6, -5, 0};
  e.rollout.log_probs = {-1, -2, -3, -4, -5, -6, -7, -8, 0, 0};
  return e;
}

}  // namespace

TEST_CASE("a worked example of the live layout") {
  const PolicyConfig config = tiny_config(4);
  const auto s = rollout_sequence(worked_example(config), config, 1);
  CHECK(s.shared == std::vector<int64_t>{2, 3, 4, 5});
  CHECK(s.clean ==
        std::vector<int64_t>{6, 7, 8, 9, 10, 11, 12, 13});  // the last live block is nobody's context
  REQUIRE(s.noisy.size() == 6);
  const int64_t m = config.mask_token_id;
  CHECK(s.noisy[0].inputs == std::vector<int64_t>{6, 7, m, m});  // the prompt's tail is there
  CHECK(s.noisy[1].inputs == std::vector<int64_t>{m, m, m, m});
  CHECK(s.noisy[2].inputs == std::vector<int64_t>{m, 11, m, 13});
  CHECK(s.noisy[3].inputs == std::vector<int64_t>{10, 11, m, 13});
  // Behind the end token: accepted at step 5, unscored; and one whose step is unknown.
  CHECK(s.noisy[4].inputs == std::vector<int64_t>{m, m, m, 16});
  CHECK(s.noisy[5].inputs == std::vector<int64_t>{14, m, 15, 16});
  CHECK(s.scored_tokens() == 8);
  CHECK(s.noisy[1].scored.size() == 2);
  CHECK(s.noisy[1].scored[0].label == 11);
  CHECK(s.noisy[1].scored[0].old_log_prob == -4);
  const auto shrunk = rollout_sequence(worked_example(config), config, 2);
  REQUIRE(shrunk.noisy.size() == 4);
  CHECK(shrunk.noisy[1].inputs == std::vector<int64_t>{m, m, m, m});
  CHECK(shrunk.noisy[1].scored.size() == 3);
  CHECK(shrunk.noisy[3].inputs == std::vector<int64_t>{m, m, m, 16});
  CHECK(shrunk.noisy[3].scored.size() == 2);
  CHECK(shrunk.scored_tokens() == 8);
}

TEST_CASE("malformed rollouts are refused") {
  const PolicyConfig config = tiny_config(4);
  const auto broken = [&](auto change) {
    Experience e = worked_example(config);
    change(e.rollout);
    return e;
  };
  CHECK_THROWS_AS(rollout_sequence(broken([](Rollout& r) { r.tokens.pop_back(); }), config, 1), Error);
  CHECK_THROWS_AS(rollout_sequence(broken([](Rollout& r) { r.step_map.pop_back(); }), config, 1), Error);
  CHECK_THROWS_AS(rollout_sequence(broken([](Rollout& r) { r.log_probs.push_back(0); }), config, 1), Error);
  CHECK_THROWS_AS(
      rollout_sequence(broken([&](Rollout& r) { r.tokens[8] = config.mask_token_id; }), config, 1), Error);
}

TEST_CASE("every scored token is packed once, shared prompts once per group, and nothing is padding") {
  const PolicyConfig config = tiny_config(4);
  const auto sequences = sequences_of(random_experiences(config, 8), config);
  const auto batches = packed(sequences, 1 << 20);
  REQUIRE(batches.size() == 1);
  int64_t scored = 0, rows = 0;
  std::vector<std::vector<int64_t>> prompts;
  for (const auto& s : sequences) {
    scored += s.scored_tokens();
    rows += static_cast<int64_t>(s.clean.size() + 4 * s.noisy.size());
    if (std::find(prompts.begin(), prompts.end(), s.shared) == prompts.end()) {
      prompts.push_back(s.shared);
      rows += static_cast<int64_t>(s.shared.size());
    }
  }
  CHECK(batches[0].scored() == scored);
  CHECK(batches[0].rows() == rows);
  CHECK(prompts.size() < sequences.size());
  const auto inputs = batches[0].tokens.index_select(0, batches[0].selected);
  CHECK(inputs.eq(config.mask_token_id).all().item<bool>());
}

TEST_CASE("groups are brought together wherever their members stand") {
  const PolicyConfig config = tiny_config(4);
  auto experiences = random_experiences(config, 8);
  const auto together = packed(sequences_of(experiences, config), 1 << 20);
  std::vector<Experience> scattered;
  for (size_t start = 0; start < 3; ++start) {
    for (size_t i = start; i < experiences.size(); i += 3) scattered.push_back(experiences[i]);
  }
  CHECK(packed(sequences_of(scattered, config), 1 << 20)[0].rows() == together[0].rows());
}

TEST_CASE("packs keep their budget unless one sequence alone exceeds it") {
  const PolicyConfig config = tiny_config(4);
  const auto sequences = sequences_of(random_experiences(config, 8), config);
  for (int64_t budget : {1, 40, 90}) {
    for (const auto& batch : packed(sequences, budget)) {
      int64_t responses = 0;
      for (const auto& segment : batch.segments) responses += segment.noisy_blocks.empty() ? 0 : 1;
      INFO("budget " << budget << ", rows " << batch.rows());
      CHECK((batch.rows() <= budget || responses == 1));
    }
  }
}

TEST_CASE("the packing budget and the order of responses do not change the gradient") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2);
  auto experiences = random_experiences(config, 4);
  for (const auto normaliser : {Normaliser::kTokens, Normaliser::kSequences, Normaliser::kConstant}) {
    UpdaterSettings settings = still_settings();
    settings.surrogate.normaliser = normaliser;
    const auto whole = gradient_of(policy, experiences, settings);
    for (int64_t budget : {1, 50, 120}) {
      settings.tokens_per_pack = budget;
      CHECK(relative_difference(gradient_of(policy, experiences, settings).flat, whole.flat) < 1e-6);
    }
    auto reversed = experiences;
    std::reverse(reversed.begin(), reversed.end());
    CHECK(relative_difference(gradient_of(policy, reversed, settings).flat, whole.flat) < 1e-6);
  }
}

TEST_CASE("a pack's pairs are those that attention counts, and its segments and ids those of the batch") {
  const PolicyConfig config = tiny_config(4);
  auto sequences = sequences_of(random_experiences(config, 3), config);
  int64_t named_ids = 0;
  for (LiveSequence& sequence : sequences)
    for (NoisyBlock& noisy : sequence.noisy) {
      noisy.scored.front().excluded = {2, 3, 4};
      noisy.scored.back().kept = {5, 6};
      named_ids += 2 + 2;
    }
  const std::vector<double> scales(sequences.size(), 1.0);
  const Packs packs(sequences, scales, {.tokens_per_pack = 100});
  REQUIRE(packs.count() > 2);
  for (size_t i = 0; i < packs.count(); ++i) {
    const PackedBatch batch = packs.make(i);
    CHECK(packs.extent(i).pairs == attention_pairs(batch.segments, 4));
    CHECK(packs.extent(i).rows == batch.rows());
    CHECK(packs.extent(i).scored == batch.scored());
    CHECK(packs.extent(i).named_ids == batch.other_ids.numel() + batch.kept_ids.numel());
    named_ids -= packs.extent(i).named_ids;
    CHECK(static_cast<int64_t>(batch.host_tokens.size()) == batch.rows());
    const auto segments = packs.segments(i);
    REQUIRE(segments.size() == batch.segments.size());
    for (size_t s = 0; s < segments.size(); ++s) {
      CHECK(segments[s].begin == batch.segments[s].begin);
      CHECK(segments[s].prefix_begin == batch.segments[s].prefix_begin);
      CHECK(segments[s].noisy_blocks == batch.segments[s].noisy_blocks);
    }
  }
  CHECK(named_ids == 0);
}

TEST_CASE("balanced packs are as many as filled ones or as other ranks have, and the dearest is cheaper") {
  const PolicyConfig config = tiny_config(4);
  std::vector<LiveSequence> sequences;
  for (uint64_t i = 0; i < 40; ++i) {
    TraceShape shape;
    shape.prompt_tokens = 4 * static_cast<int64_t>(i / 4 % 5);
    shape.response_blocks = 2 + static_cast<int64_t>(i % 7);
    sequences.push_back(rollout_sequence(random_experience(config, shape, i, 1.0), config, 1));
  }
  const std::vector<double> scales(sequences.size(), 1.0);
  const double of_pair = 0.05;
  const auto cost = [&](const Packs& packs, size_t i) {
    return static_cast<double>(packs.extent(i).rows) + of_pair * static_cast<double>(packs.extent(i).pairs);
  };
  const auto dearest = [&](const Packs& packs) {
    double most = 0;
    for (size_t i = 0; i < packs.count(); ++i) most = std::max(most, cost(packs, i));
    return most;
  };
  const auto scored_tokens = [](const Packs& packs) {
    int64_t scored = 0;
    for (size_t i = 0; i < packs.count(); ++i) scored += packs.make(i).scored();
    return scored;
  };
  double saved = 0;
  size_t more = 0;
  for (const int64_t budget : {400, 500, 600, 700, 800, 900}) {
    INFO("packs of " << budget << " rows");
    const Packs filled(sequences, scales, {.tokens_per_pack = budget});
    const Packs balanced(sequences, scales, {.tokens_per_pack = budget, .rows_of_pair = of_pair});
    REQUIRE(filled.count() > 2);
    CHECK(balanced.count() == filled.count());
    CHECK(dearest(balanced) <= dearest(filled));
    saved = std::max(saved, 1 - dearest(balanced) / dearest(filled));
    int64_t expected = 0;
    for (const LiveSequence& s : sequences) expected += s.scored_tokens();
    CHECK(scored_tokens(balanced) == expected);
    for (size_t i = 0; i < balanced.count(); ++i) CHECK(balanced.extent(i).rows <= budget);
    // Another rank has two more.
    const size_t most = balanced.count() + 2;
    const Packs lockstep(sequences, scales,
                         {.tokens_per_pack = budget, .rows_of_pair = of_pair, .lockstep_count = most});
    CHECK((lockstep.count() >= balanced.count() && lockstep.count() <= most));
    more += lockstep.count() - balanced.count();
    CHECK(scored_tokens(lockstep) == expected);
    CHECK(dearest(lockstep) <= 1.001 * dearest(balanced));  // as near as the search goes
    for (size_t i = 1; i < lockstep.count(); ++i) CHECK(cost(lockstep, i) <= cost(lockstep, i - 1));
  }
  CHECK(saved > 0.1);
  CHECK(more > 0);
}

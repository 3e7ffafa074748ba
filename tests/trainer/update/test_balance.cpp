// Experiences move to the ranks that train them, whole.
#include "tests/trainer/fixtures.h"
#include "tests/trainer/ranks/thread_ranks.h"
#include "trainer/update/packing/balance.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <tuple>

#include "common/rng.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

Experience drawn_experience(int64_t group, int64_t sample) {
  RandomStream random(mix_key({9, static_cast<uint64_t>(group), static_cast<uint64_t>(sample)}));
  Experience e;
  e.group = group;
  e.sample = sample;
  e.turn = sample % 2;
  e.reward = random.uniform();
  e.advantage = random.normal();
  e.rollout.task_id = concat("task ", group);
  e.rollout.policy_version = 7;
  e.rollout.prompt_tokens = 3;
  e.rollout.finish = FinishReason::kDelimiter;
  e.rollout.clamped = true;
  e.rollout.text = "\xff is no UTF-8";
  e.rollout.denoise_steps = 5;
  e.rollout.tokens = {1, 2, 3};
  const auto length = static_cast<int64_t>(4 + random.below(60));
  for (int64_t i = 0; i < length; ++i) {
    e.rollout.tokens.push_back(static_cast<int64_t>(random.below(151'936)));
    e.rollout.step_map.push_back(i + 1 < length ? static_cast<int32_t>(1 + i) : -3);
    e.rollout.log_probs.push_back(static_cast<float>(-10 * random.uniform()));
  }
  e.rollout.candidates.kind = CandidateTerms::kRejected;
  e.rollout.candidates.add_excluded(3, 1, {150'000, 7}, -0.25f);
  return e;
}

bool are_equal(const Experience& a, const Experience& b) {
  const Rollout &x = a.rollout, &y = b.rollout;
  return a.turn == b.turn && a.reward == b.reward && a.advantage == b.advantage && x.task_id == y.task_id &&
         x.policy_version == y.policy_version && x.prompt_tokens == y.prompt_tokens && x.finish == y.finish &&
         x.clamped == y.clamped && x.denoise_steps == y.denoise_steps && x.tokens == y.tokens &&
         x.step_map == y.step_map && x.log_probs == y.log_probs && x.candidates == y.candidates;
}

}  // namespace

TEST_CASE("balance brings every experience to one rank, bit for bit, with the keys of all") {
  constexpr int kRanks = 3;
  std::vector<std::vector<Experience>> before(kRanks);
  StepKeys keys;
  for (int64_t group = 0; group < 7; ++group)
    for (int64_t sample = 0; sample < 4; ++sample)
      before[static_cast<size_t>(group % kRanks)].push_back(drawn_experience(group, sample));
  for (const auto& of_rank : before) keys.push_back(shares_of(of_rank));
  std::vector<BalancedStep> after(kRanks);
  on_ranks(kRanks, [&](ControlPlane& control) {
    const auto rank = static_cast<size_t>(control.rank());
    after[rank] = balance(before[rank], keys, /*responses_per_update=*/6, /*key=*/3, {}, control);
  });
  size_t experiences = 0, has_moved = 0;
  for (size_t rank = 0; rank < kRanks; ++rank) {
    const std::vector<Experience>& mine = after[rank].experiences;
    REQUIRE(mine.size() == after[rank].keys[rank].size());
    for (size_t i = 0; i < mine.size(); ++i) {
      const ExperienceKey& key = after.front().keys[rank][i];  // every rank has those of all
      CHECK((mine[i].group == key.group && mine[i].sample == key.sample && mine[i].turn == key.turn));
      CHECK(mine[i].rollout.scored_tokens() == key.scored_tokens);
      CHECK((key.prompt_tokens == 3 && key.scored_rounds == key.scored_tokens));  // one token a step
      CHECK(are_equal(mine[i], drawn_experience(mine[i].group, mine[i].sample)));
      has_moved += mine[i].group % kRanks != static_cast<int64_t>(rank);
    }
    // The responses to one prompt side by side, as minibatches keep them.
    CHECK(std::ranges::is_sorted(mine, {},
                                 [](const Experience& e) { return std::tuple(e.group, e.sample, e.turn); }));
    experiences += mine.size();
  }
  CHECK(experiences == 28);
  CHECK(has_moved > 0);
}

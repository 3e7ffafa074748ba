// Which responses make an update together, whatever the number of ranks.
#include "tests/trainer/fixtures.h"
#include "tests/trainer/ranks/thread_ranks.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "common/rng.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

using Place = std::pair<int64_t, int64_t>;  // group, sample

// So many groups of four, some without a scored token, dealt to ranks as a run deals them: group i to rank
// i mod ranks.
StepKeys shares_on(int ranks, int64_t groups) {
  StepKeys shares(static_cast<size_t>(ranks));
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t s = 0; s < 4; ++s) {
      const int64_t scored = (g + s) % 7 == 0 ? 0 : 1 + (3 * g + 5 * s) % 11;
      shares[static_cast<size_t>(g % ranks)].push_back({g, s, scored});
    }
  return shares;
}

struct Contents {
  std::multiset<Place> members;
  double weight = 0;  // over all ranks: scored tokens times scale
};

std::vector<Contents> deal(const StepKeys& shares, int64_t responses_per_update,
                           const SurrogateSettings& objective, uint64_t key) {
  std::vector<Contents> contents;
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    const auto minibatches =
        deal_minibatches(shares, static_cast<int>(rank), responses_per_update, objective, key);
    contents.resize(std::max(contents.size(), minibatches.size()));
    REQUIRE(contents.size() == minibatches.size());
    for (size_t m = 0; m < minibatches.size(); ++m) {
      CHECK(std::is_sorted(minibatches[m].mine.begin(), minibatches[m].mine.end()));
      for (size_t i = 0; i < minibatches[m].mine.size(); ++i) {
        const ExperienceKey& share = shares[rank].at(minibatches[m].mine[i]);
        contents[m].members.insert({share.group, share.sample});
        contents[m].weight += static_cast<double>(share.scored_tokens) * minibatches[m].scales[i];
      }
    }
  }
  return contents;
}

}  // namespace

TEST_CASE("a minibatch holds the same responses on any number of ranks") {
  SurrogateSettings objective;
  for (int64_t limit : {0, 5, 8, 1000}) {
    const auto alone = deal(shares_on(1, 9), limit, objective, 3);
    for (int ranks : {2, 3, 5}) {
      const auto shared = deal(shares_on(ranks, 9), limit, objective, 3);
      REQUIRE(shared.size() == alone.size());
      for (size_t m = 0; m < alone.size(); ++m) CHECK(shared[m].members == alone[m].members);
    }
  }
}

TEST_CASE("groups of two steps with one number are dealt alike on any number of ranks") {
  // Group g of each step on rank g mod ranks, those of the step before first; told apart by scored tokens.
  const auto shares_of_steps = [](int ranks) {
    StepKeys shares(static_cast<size_t>(ranks));
    for (const int64_t step : {1, 2})
      for (int64_t g = 0; g < 3 * step; ++g)
        for (int64_t s = 0; s < 2; ++s)
          shares[static_cast<size_t>(g % ranks)].push_back({g, s, 100 * step + 10 * g + s});
    return shares;
  };
  const auto dealt = [&](int ranks, int64_t limit) {
    const StepKeys shares = shares_of_steps(ranks);
    std::vector<std::multiset<int64_t>> minibatches;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto parts = deal_minibatches(shares, rank, limit, {}, 3);
      minibatches.resize(parts.size());
      for (size_t m = 0; m < parts.size(); ++m)
        for (const size_t i : parts[m].mine)
          minibatches[m].insert(shares[static_cast<size_t>(rank)].at(i).scored_tokens);
    }
    return minibatches;
  };
  for (const int64_t limit : {0, 5, 7}) {
    const auto alone = dealt(1, limit);
    size_t members = 0;
    for (const auto& minibatch : alone) members += minibatch.size();
    CHECK(members == 18);
    for (const int ranks : {2, 3, 4}) CHECK((dealt(ranks, limit) == alone));
  }
}

TEST_CASE("every scored response is dealt once, in parts of nearly equal size") {
  const StepKeys shares = shares_on(2, 9);
  std::multiset<Place> scored;
  for (const auto& rank : shares)
    for (const auto& share : rank)
      if (share.scored_tokens > 0) scored.insert({share.group, share.sample});
  for (int64_t limit : {1, 4, 7}) {
    std::multiset<Place> dealt;
    size_t least = scored.size(), most = 0;
    for (const Contents& minibatch : deal(shares, limit, {}, 3)) {
      dealt.insert(minibatch.members.begin(), minibatch.members.end());
      least = std::min(least, minibatch.members.size());
      most = std::max(most, minibatch.members.size());
    }
    CHECK(dealt == scored);
    CHECK(most <= static_cast<size_t>(limit));
    CHECK(most - least <= 1);
  }
  CHECK(deal(shares, 4, {}, 3).front().members != deal(shares, 4, {}, 4).front().members);
  CHECK(deal_minibatches({{}, {}}, 0, 4, {}, 3).empty());
  CHECK(deal_minibatches({{{0, 0, 0}}, {}}, 0, 4, {}, 3).empty());
}

TEST_CASE("a minibatch's weights sum to one over all ranks") {
  SurrogateSettings objective;
  for (Normaliser normaliser : {Normaliser::kTokens, Normaliser::kSequences}) {
    objective.normaliser = normaliser;
    for (const Contents& minibatch : deal(shares_on(3, 9), 8, objective, 1))
      CHECK_THAT(minibatch.weight, Catch::Matchers::WithinAbs(1, 1e-12));
  }
}

TEST_CASE("what an update holds, and so the policy, does not depend on the number of ranks") {
  const PolicyConfig config = tiny_config(4);
  UpdaterSettings settings;
  settings.learning_rate.peak = 1e-3;
  settings.responses_per_update = 5;
  settings.epochs = 2;
  const auto all = random_experiences(config, 4);
  const auto parameters_on = [&](int ranks) {
    std::vector<at::Tensor> parameters(static_cast<size_t>(ranks));
    std::atomic<int64_t> updates = 0;  // ranks are threads, and Catch2's assertions are for one
    on_ranks(ranks, [&](ControlPlane& control, TensorPlane& tensors) {
      Transformer policy = tiny_policy(config, 40);
      PolicyUpdater updater(policy, tiny_allowed(config), settings, control, tensors);
      std::vector<Experience> mine;
      for (size_t i = control.rank(); i < all.size(); i += control.size()) mine.push_back(all[i]);
      for (int step = 0; step < 2; ++step) updates += reinforce(updater, mine, control)[UpdateRow::kUpdates];
      updater.check_replicas();
      parameters[static_cast<size_t>(control.rank())] = flat_values(policy);
    });
    CHECK(updates == 12 * ranks);
    return parameters.front();
  };
  const at::Tensor alone = parameters_on(1);
  for (int ranks : {2, 3}) CHECK((parameters_on(ranks) - alone).abs().max().item<double>() < 1e-7);
}

namespace {

// Lengths as policies write them: some are many times as long as others. Prompts of 300 to 2,500 tokens, and
// two tokens a denoise step.
StepKeys uneven_shares(int ranks) {
  StepKeys shares(static_cast<size_t>(ranks));
  RandomStream random(5);
  for (int64_t g = 0; g < 64; ++g) {
    const auto prompt_tokens = static_cast<int64_t>(300 + random.below(2200));
    for (int64_t s = 0; s < 8; ++s) {
      const int64_t tokens =
          1 + static_cast<int64_t>(std::min(4096.0, 1000 * std::exp(0.7 * random.normal())));
      shares[static_cast<size_t>(g % ranks)].push_back({.group = g,
                                                        .sample = s,
                                                        .scored_tokens = tokens,
                                                        .prompt_tokens = prompt_tokens,
                                                        .scored_rounds = tokens / 2});
    }
  }
  return shares;
}

StepKeys moved(const StepKeys& shares, const std::vector<std::vector<int>>& ranks) {
  StepKeys result(shares.size());
  for (size_t rank = 0; rank < shares.size(); ++rank)
    for (size_t i = 0; i < shares[rank].size(); ++i)
      result.at(static_cast<size_t>(ranks[rank].at(i))).push_back(shares[rank][i]);
  for (auto& of_rank : result)
    std::ranges::stable_sort(of_rank, {},
                             [](const ExperienceKey& k) { return std::pair(k.group, k.sample); });
  return result;
}

// The pairs of a policy of 1.7B parameters in blocks of four.
const RowCost kCost{.block_size = 4, .rows_of_pair = 9.5e-5};

// Of all minibatches, what the rows of the rank with the most cost, over those of all ranks on average. Rows
// are counted here one by one: each has a pair with every token before its block's end.
double imbalance(const StepKeys& shares, int64_t limit, uint64_t key) {
  std::vector<std::vector<double>> costs;  // by minibatch and rank
  const auto cost_at = [](int64_t position) {
    return 1 + kCost.rows_of_pair * static_cast<double>(position / 4 * 4 + 4);
  };
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    const auto minibatches = deal_minibatches(shares, static_cast<int>(rank), limit, {}, key);
    costs.resize(minibatches.size(), std::vector<double>(shares.size()));
    for (size_t m = 0; m < minibatches.size(); ++m) {
      std::set<int64_t> prompts;
      for (const size_t i : minibatches[m].mine) {
        const ExperienceKey& share = shares[rank].at(i);
        double& cost = costs[m][rank];
        if (prompts.insert(share.group).second)
          for (int64_t p = 0; p < share.prompt_tokens; ++p) cost += cost_at(p);
        for (int64_t t = 0; t < share.scored_tokens; ++t) cost += 3 * cost_at(share.prompt_tokens + t);
      }
    }
  }
  double slowest = 0, mean = 0;
  for (const auto& of_ranks : costs) {
    slowest += *std::ranges::max_element(of_ranks);
    mean += std::accumulate(of_ranks.begin(), of_ranks.end(), 0.0) / static_cast<double>(of_ranks.size());
  }
  return slowest / mean;
}

}  // namespace

TEST_CASE("balanced ranks have equal work in every minibatch, which holds what it held") {
  for (const int ranks : {2, 4, 8}) {
    const StepKeys shares = uneven_shares(ranks);
    const StepKeys balanced = moved(shares, balanced_ranks(shares, 64, 3, kCost));
    INFO(ranks << " ranks");
    CHECK(imbalance(shares, 64, 3) > 1.1);
    CHECK(imbalance(balanced, 64, 3) < 1 + 0.005 * ranks);
    // By the tokens of responses, all prompts alike, ranks are less equal.
    StepKeys alike = shares;
    for (auto& of_rank : alike)
      for (ExperienceKey& share : of_rank) share.prompt_tokens = 300, share.scored_rounds = 0;
    const StepKeys by_tokens = moved(shares, balanced_ranks(alike, 64, 3, {}));
    CHECK(imbalance(by_tokens, 64, 3) > imbalance(balanced, 64, 3) + 0.005 * ranks);
    const auto before = deal(shares, 64, {}, 3), after = deal(balanced, 64, {}, 3);
    REQUIRE(after.size() == before.size());
    for (size_t m = 0; m < before.size(); ++m) CHECK(after[m].members == before[m].members);
  }
  // Of one minibatch, groups stay whole.
  const StepKeys shares = uneven_shares(4);
  const auto ranks = balanced_ranks(shares, 0, 3, kCost);
  for (size_t rank = 0; rank < shares.size(); ++rank)
    for (size_t i = 8; i < shares[rank].size(); ++i)
      if (shares[rank][i].group == shares[rank][i - 1].group) CHECK(ranks[rank][i] == ranks[rank][i - 1]);
}

TEST_CASE("balanced ranks keep what is in no minibatch, and two of one name together") {
  const StepKeys shares = {{{0, 0, 0}, {0, 1, 5}, {0, 1, 900}, {2, 0, 7}, {2, 1, 8}}, {{1, 0, 3}, {1, 1, 0}}};
  for (const int64_t limit : {0, 1, 2}) {
    const auto ranks = balanced_ranks(shares, limit, 3, kCost);
    CHECK(ranks[0][0] == 0);
    CHECK(ranks[1][1] == 1);
    CHECK(ranks[0][1] == ranks[0][2]);
    const StepKeys balanced = moved(shares, ranks);
    const auto before = deal(shares, limit, {}, 3), after = deal(balanced, limit, {}, 3);
    REQUIRE(after.size() == before.size());
    for (size_t m = 0; m < before.size(); ++m) CHECK(after[m].members == before[m].members);
  }
  CHECK(balanced_ranks({{}, {}}, 4, 3, kCost) == std::vector<std::vector<int>>{{}, {}});
}

TEST_CASE("balanced ranks count a prompt once for its group, and for each response of a later turn") {
  // Four groups of two equal responses. The prompt of the first has as many rows as two responses.
  const auto shares_at = [](int64_t turn) {
    StepKeys shares(2);
    for (const int64_t group : {0, 1, 2, 3})
      for (const int64_t sample : {0, 1})
        shares[0].push_back({.group = group,
                             .sample = sample,
                             .scored_tokens = 100,
                             .turn = turn,
                             .prompt_tokens = group == 0 ? 400 : 0,
                             .scored_rounds = 25});
    return shares;
  };
  const auto companions = [&](int64_t turn) {  // responses that are trained where group 0 is
    const std::vector<int> ranks = balanced_ranks(shares_at(turn), 0, 3, {}).front();
    return std::ranges::count(ranks, ranks.front()) - 2;
  };
  // Rows: 800 with a shared prompt, 1,200 with two, beside 400 of every other group.
  CHECK(companions(0) == 2);
  CHECK(companions(1) == 0);
}

namespace {

// A response of 64 blocks of four tokens, so many of which each denoise step accepts.
Experience paced_experience(const PolicyConfig& config, int64_t tokens_per_step) {
  Experience e = random_experience(config, {.prompt_tokens = 8, .response_blocks = 64}, 5, 1);
  for (size_t i = 0; i < e.rollout.step_map.size(); ++i)
    e.rollout.step_map[i] = static_cast<int32_t>(1 + static_cast<int64_t>(i) / tokens_per_step);
  return e;
}

}  // namespace

TEST_CASE("a response costs the rows that its objective computes for it") {
  const PolicyConfig config = tiny_config(4);
  for (const char* yaml : {"{objective: trace}", "{objective: trace, shrink: 2}", "{objective: coupled}",
                           "{objective: random_masking}"})
    for (const int64_t tokens_per_step : {1, 2, 4}) {
      INFO(yaml << ", tokens per step: " << tokens_per_step);
      const auto objective = objective_of(yaml);
      const RowCost cost{.block_size = 4,
                         .rounds_of_block = [&](int64_t steps) { return objective->rounds_of_block(steps); }};
      const Experience experience = paced_experience(config, tokens_per_step);
      const LiveSequence sequence = objective->sequence(experience, config, {.seed = 1});
      const auto rows = static_cast<double>(sequence.clean.size() + 4 * sequence.noisy.size());
      // The last block has no clean rows, and a round whose mask is empty, one in sixteen, is left out.
      CHECK_THAT(cost.of_response(shares_of({experience}).front()), Catch::Matchers::WithinRel(rows, 0.1));
    }
}

TEST_CASE("ranks of an update with one round a block get equal numbers of responses of one length") {
  const PolicyConfig config = tiny_config(4);
  // By the sampler's steps, the first would cost as much as two and a half of the others.
  std::vector<Experience> all;
  for (const int64_t tokens_per_step : {1, 4, 4, 4}) {
    all.push_back(paced_experience(config, tokens_per_step));
    all.back().group = static_cast<int64_t>(all.size());
  }
  UpdaterSettings settings = still_settings();
  settings.objective = objective_of("{objective: random_masking}");
  std::vector<double> rows(2);
  on_ranks(2, [&](ControlPlane& control, TensorPlane& tensors) {
    Transformer policy = tiny_policy(config, 40);
    PolicyUpdater updater(policy, tiny_allowed(config), settings, control, tensors);
    const bool is_first = control.rank() == 0;
    const std::vector<Experience> mine = is_first ? all : std::vector<Experience>{};
    const StepKeys keys = all_gather_lists(control, shares_of(mine));
    rows[static_cast<size_t>(control.rank())] = updater.reinforce(mine, keys)[UpdateRow::kPackedRows];
  });
  CHECK_THAT(rows[0], Catch::Matchers::WithinRel(rows[1], 0.1));
}

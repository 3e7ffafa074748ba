// Steps of several rounds, and groups that wait for the next step's update.
#include "tests/trainer/collecting_rank.h"
#include "tests/trainer/ranks/thread_ranks.h"
#include "trainer/experience/surplus.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

using namespace bicrl;
using namespace bicrl::testing;

namespace {

constexpr uint64_t kStepKey = 7;
constexpr const char* kPhase = "end_to_end";

std::vector<Placement> placements() {
  return {Placement::colocated(1), Placement::colocated(2), Placement::colocated(3), Placement::split(2, 1),
          Placement::split(4, 2)};
}

// The five groups in rounds of two.
CollectedStep in_rounds(Rank& rank, const std::vector<Task>& tasks, int64_t step) {
  const std::vector<PromptedTask> all = prompted(tasks);
  SharedStep shared;
  for (size_t first = 0; first < all.size(); first += 2) {
    const std::vector<PromptedTask> round(
        all.begin() + static_cast<int64_t>(first),
        all.begin() + static_cast<int64_t>(std::min(first + 2, all.size())));
    rank.collector.share(rank.collector.generate(round, kStepKey, /*policy_version=*/step,
                                                 {.phase = kPhase, .step = step}, shared.groups()),
                         shared);
  }
  BICRL_CHECK(shared.rounds == 3 && shared.groups() == 5, shared.rounds, " ", shared.groups());
  return rank.collector.finish(std::move(shared));
}

bool is_same(const Experience& a, const Experience& b) {
  return std::tie(a.group, a.sample, a.reward, a.advantage, a.rollout.policy_version, a.rollout.tokens,
                  a.rollout.prompt_tokens, a.rollout.step_map, a.rollout.log_probs, a.rollout.finish) ==
         std::tie(b.group, b.sample, b.reward, b.advantage, b.rollout.policy_version, b.rollout.tokens,
                  b.rollout.prompt_tokens, b.rollout.step_map, b.rollout.log_probs, b.rollout.finish);
}

bool are_same(const std::vector<Experience>& a, const std::vector<Experience>& b) {
  return std::ranges::equal(a, b, is_same);
}

std::set<int64_t> informative(const CollectedStep& step) {
  std::set<int64_t> groups;
  for (const auto& rank : step.shares)
    for (const ExperienceKey& key : rank) groups.insert(key.group);
  return groups;
}

using TrainedKeys = std::vector<std::tuple<int64_t, int64_t, int64_t>>;  // version, group, sample

// Of a rank's experiences, which the keys that others know of them must match.
TrainedKeys trained(const CollectedStep& step, int rank) {
  TrainedKeys found;
  const std::vector<ExperienceKey>& keys = step.shares.at(static_cast<size_t>(rank));
  REQUIRE(keys.size() == step.experiences.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const Experience& e = step.experiences[i];
    CHECK(keys[i] == key_of(e.group, e.sample, e.turn, e.rollout));
    found.emplace_back(e.rollout.policy_version, e.group, e.sample);
  }
  return found;
}

}  // namespace

TEST_CASE("rounds of a step come to what one round of all groups comes to") {
  const std::vector<Task> tasks = five_tasks();
  const auto known = verdicts_of_step(tasks, kStepKey);
  for (const Placement& placement : placements()) {
    const TemporaryFolder folder, another;
    const auto count = static_cast<size_t>(placement.ranks());
    std::vector<CollectedStep> whole(count), rounds(count);
    const auto collect = [&](const TemporaryFolder& place, auto&& work) {
      return on_ranks(placement.ranks(), [&](ControlPlane& control) {
        Rank rank(control, place, known, placement);
        work(rank, static_cast<size_t>(control.rank()));
      });
    };
    const int64_t once = collect(folder, [&](Rank& rank, size_t i) {
      whole[i] = rank.collector.collect(prompted(tasks), kStepKey, 1, {.phase = kPhase, .step = 1});
      BICRL_CHECK(rank.ledger.round() == 1);
    });
    const int64_t thrice = collect(another, [&](Rank& rank, size_t i) {
      rounds[i] = in_rounds(rank, tasks, 1);
      BICRL_CHECK(rank.ledger.round() == 3 && rank.ledger.size() == known.size());
    });
    CHECK(thrice - once == 2);  // an exchange a round
    for (size_t i = 0; i < count; ++i) {
      // Fewer responses share a forward in a round; nothing else follows from it.
      rounds[i].figures.sums[Sum::kForwards] = whole[i].figures.sums[Sum::kForwards];
      CHECK(to_json(rounds[i].figures) == to_json(whole[i].figures));
      CHECK(are_same(rounds[i].experiences, whole[i].experiences));
      REQUIRE(rounds[i].log.size() == whole[i].log.size());
      for (size_t e = 0; e < whole[i].log.size(); ++e) CHECK(rounds[i].log[e].key == whole[i].log[e].key);
      CHECK(rounds[i].unverified.size() == whole[i].unverified.size());
    }
  }
}

TEST_CASE("surplus serves the next step on any ranks, from memory as from a checkpoint") {
  const std::vector<Task> tasks = five_tasks();
  const auto known = verdicts_of_step(tasks, kStepKey);
  const RefillSettings refill{.informative_groups = 3, .at_most = 5};
  std::vector<std::map<int64_t, std::set<std::pair<int64_t, int64_t>>>>
      updates;  // of the second step, by version
  for (const Placement& placement : placements()) {
    const TemporaryFolder folder;
    const RolloutStore store(folder.path() / "rollouts");
    const auto count = static_cast<size_t>(placement.ranks());
    std::vector<CollectedStep> first(count), second(count);
    std::set<int64_t> all;
    on_ranks(placement.ranks(), [&](ControlPlane& control) {
      const auto i = static_cast<size_t>(control.rank());
      Rank rank(control, folder, known, placement);
      Surplus surplus(store, kPhase, control, placement);
      first[i] = in_rounds(rank, tasks, 1);
      if (i == 0) all = informative(first[i]);
      surplus.settle(refill, first[i], 1, 1, /*is_last=*/false);
      // As a run that goes on would have it.
      Surplus restored(store, kPhase, control, placement);
      restored.restore(nlohmann::json::parse(surplus.state().dump()));
      BICRL_CHECK(restored.groups() == surplus.groups() && restored.policy_version() == 1);
      restored.keep_for_checkpoints({});  // what is still to come stays
      second[i] = in_rounds(rank, tasks, 2);
      CollectedStep again = second[i];
      surplus.settle(refill, second[i], 2, 2, /*is_last=*/true);
      restored.settle(refill, again, 2, 2, /*is_last=*/true);
      BICRL_CHECK(are_same(second[i].experiences, again.experiences), "restored experiences differ");
      BICRL_CHECK(second[i].shares == again.shares, "restored keys differ");
      BICRL_CHECK(to_json(second[i].figures) == to_json(again.figures), "restored figures differ");
      BICRL_CHECK(restored.groups() == 0 && restored.state().is_null(), "the last step keeps something");
    });
    REQUIRE(all.size() >= 4);  // so that there is a surplus
    const auto informative_groups = static_cast<double>(all.size());
    auto& update = updates.emplace_back();
    for (int rank = 0; rank < placement.trainers(); ++rank) {
      const auto i = static_cast<size_t>(rank);
      for (const auto& [version, group, sample] : trained(first[i], rank)) {
        CHECK(version == 1);
        CHECK(std::distance(all.begin(), all.find(group)) < 3);
      }
      for (const auto& [version, group, sample] : trained(second[i], rank)) {
        CHECK((std::distance(all.begin(), all.find(group)) >= 3) == (version == 1));
        update[version].emplace(group, sample);
      }
      CHECK(first[i].figures.sums[Sum::kSurplusKept] == informative_groups - 3);
      CHECK(first[i].figures.sums[Sum::kSurplusTaken] == 0);
      CHECK(second[i].figures.sums[Sum::kSurplusTaken] == informative_groups - 3);
      CHECK(second[i].figures.sums[Sum::kSurplusKept] == 0);
      // Three of the second step's update are used, the others of the phase's last step by nobody.
      CHECK(second[i].figures.sums[Sum::kSurplusDropped] == 2 * informative_groups - 6);
    }
    CHECK((update == updates.front()));
    CHECK_FALSE(update[1].empty());
    CHECK_FALSE(update[2].empty());
  }
}

TEST_CASE("groups of equal rewards that are kept stay in their own step's update, beside the same surplus") {
  const std::vector<Task> tasks = five_tasks();
  const auto known = verdicts_of_step(tasks, kStepKey);
  const RefillSettings refill{.informative_groups = 2, .at_most = 5};
  for (const Placement& placement : placements()) {
    const auto count = static_cast<size_t>(placement.ranks());
    // By whether they are kept, and by rank.
    std::vector<CollectedStep> all[2], settled[2];
    std::vector<nlohmann::json> states[2];
    for (const bool keeps : {false, true}) {
      all[keeps].resize(count);
      settled[keeps].resize(count);
      states[keeps].resize(count);
      const TemporaryFolder folder;
      const RolloutStore store(folder.path() / "rollouts");
      on_ranks(placement.ranks(), [&](ControlPlane& control) {
        const auto i = static_cast<size_t>(control.rank());
        Rank rank(control, folder, known, placement, binary(),
                  {.samples_per_task = 4, .scoring = {.advantage = {.keeps_equal = keeps}}});
        Surplus surplus(store, kPhase, control, placement);
        all[keeps][i] = settled[keeps][i] = in_rounds(rank, tasks, 1);
        surplus.settle(refill, settled[keeps][i], 1, 1, /*is_last=*/false);
        states[keeps][i] = surplus.state();
        BICRL_CHECK(settled[keeps][i].informative.size() == 2, "informative groups of the update");
      });
    }
    CHECK(states[0] == states[1]);
    for (size_t i = 0; i < count; ++i) {
      const StepSums &with = settled[1][i].figures.sums, &without = settled[0][i].figures.sums;
      CHECK(with[Sum::kInformative] == without[Sum::kInformative]);
      CHECK(with[Sum::kSurplusKept] == without[Sum::kSurplusKept]);
      CHECK(without[Sum::kKept] == 0);
      REQUIRE(with[Sum::kKept] > 0);
      CHECK(with[Sum::kKept] == with[Sum::kZeroVariance]);
    }
    for (int rank = 0; rank < placement.trainers(); ++rank) {
      const auto i = static_cast<size_t>(rank);
      TrainedKeys expected = trained(settled[0][i], rank);
      for (const auto& [version, group, sample] : trained(all[1][i], rank))
        if (!all[1][i].informative.contains(group)) expected.emplace_back(version, group, sample);
      std::ranges::sort(expected);
      CHECK((trained(settled[1][i], rank) == expected));
      for (const Experience& e : settled[1][i].experiences)
        CHECK((e.advantage == 0) >= !all[1][i].informative.contains(e.group));
    }
  }
}

TEST_CASE("files of a surplus stay while a checkpoint needs them") {
  const std::vector<Task> tasks = five_tasks();
  const auto known = verdicts_of_step(tasks, kStepKey);
  const TemporaryFolder folder;
  const RolloutStore store(folder.path() / "rollouts");
  const std::string name = std::string(kPhase) + "-surplus";
  SingleProcessControl alone;
  Rank rank(alone, folder, known);
  const RefillSettings refill{.informative_groups = 1, .at_most = 5};
  Surplus surplus(store, kPhase, alone, Placement::colocated(1));
  CollectedStep collected = in_rounds(rank, tasks, 1);
  surplus.settle(refill, collected, 1, 1, false);
  const nlohmann::json state = surplus.state();
  CHECK(store.has(name, 1));
  collected = in_rounds(rank, tasks, 2);
  surplus.settle(refill, collected, 2, 2, false);
  surplus.keep_for_checkpoints({1});
  CHECK(store.has(name, 1));
  surplus.keep_for_checkpoints({});
  CHECK_FALSE(store.has(name, 1));
  CHECK(store.has(name, 2));  // the next step's
  Surplus restored(store, kPhase, alone, Placement::colocated(1));
  restored.restore(state);
  collected = in_rounds(rank, tasks, 2);
  CHECK_THROWS_WITH(restored.settle(refill, collected, 2, 2, false),
                    Catch::Matchers::ContainsSubstring("end_to_end-surplus-000001"));
  // Of a bad update everything stays that it was made of.
  CHECK(surplus.keep_taken() == 1);
  collected = in_rounds(rank, tasks, 3);
  surplus.settle(refill, collected, 3, 3, false);
  CHECK(surplus.keep_taken() == 2);
  surplus.keep_for_checkpoints({});
  CHECK(store.has(name, 2));
  // So it does for the run that goes on.
  Surplus(store, kPhase, alone, Placement::colocated(1)).keep_for_checkpoints({});
  CHECK(store.has(name, 2));
}

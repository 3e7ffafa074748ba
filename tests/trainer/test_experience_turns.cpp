// The turn that an experience is of: within a step, between ranks, and in a surplus that waits.
#include "tests/trainer/collecting_rank.h"
#include "tests/trainer/ranks/thread_ranks.h"
#include "trainer/experience/step_exchange.h"
#include "trainer/experience/surplus.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

using namespace bicrl;
using namespace bicrl::testing;

namespace {

constexpr uint64_t kKey = 7;

// What a policy might have written that revises each of its answers once.
std::vector<Episode> revised(const std::vector<Task>& tasks, const KnownVerdicts& known) {
  SingleProcessControl alone;
  const TemporaryFolder folder;
  std::vector<Episode> episodes =
      Rank(alone, folder, known).collector.collect(prompted(tasks), kKey, 1).generated;
  for (Episode& episode : episodes) episode.turns.insert(episode.turns.begin(), episode.last());
  return episodes;
}

// Both turns of each episode, one behind the other.
template <class Items>
bool alternate(const Items& items) {
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].turn != static_cast<int64_t>(i % 2)) return false;
  return items.size() % 2 == 0;
}

bool has_both_turns(const CollectedStep& step) {
  return alternate(step.experiences) &&
         std::ranges::all_of(step.shares, [](const auto& keys) { return alternate(keys); });
}

}  // namespace

TEST_CASE("experience keys keep their turns between ranks") {
  on_ranks(2, [](ControlPlane& control) {
    RankStepReport mine;
    for (int64_t turn = 0; turn < 3; ++turn)
      mine.experiences.push_back({.group = control.rank(), .sample = 4, .scored_tokens = 50, .turn = turn});
    const std::vector<RankStepReport> ranks = exchange(std::move(mine), control);
    for (int64_t rank = 0; rank < 2; ++rank)
      for (int64_t turn = 0; turn < 3; ++turn) {
        const ExperienceKey& key =
            ranks.at(static_cast<size_t>(rank)).experiences.at(static_cast<size_t>(turn));
        BICRL_CHECK(key.group == rank && key.sample == 4 && key.scored_tokens == 50 && key.turn == turn);
      }
  });
}

TEST_CASE("experiences of revised answers are of both turns, on any ranks and from a surplus") {
  const std::vector<Task> tasks = five_tasks();
  const auto known = verdicts_of_step(tasks, kKey);
  const std::vector<Episode> saved = revised(tasks, known);
  const RefillSettings refill{.informative_groups = 3, .at_most = 5};
  for (const Placement& placement :
       {Placement::colocated(1), Placement::colocated(3), Placement::split(2, 1)}) {
    const TemporaryFolder folder;
    on_ranks(placement.ranks(), [&](ControlPlane& control) {
      Rank rank(control, folder, known, placement);
      const RolloutStore store(folder.path() / "rollouts");
      Surplus surplus(store, "end_to_end", control, placement);
      const auto collect = [&] { return rank.collector.collect_saved(saved, tasks, kKey); };
      CollectedStep first = collect();
      BICRL_CHECK(has_both_turns(first), "a turn is lost");
      surplus.settle(refill, first, 1, 1, /*is_last=*/false);
      BICRL_CHECK(surplus.groups() > 0);
      Surplus restored(store, "end_to_end", control, placement);
      restored.restore(nlohmann::json::parse(surplus.state().dump()));
      CollectedStep second = collect(), again = second;
      surplus.settle(refill, second, 2, 2, /*is_last=*/true);
      restored.settle(refill, again, 2, 2, /*is_last=*/true);
      BICRL_CHECK(has_both_turns(second) && has_both_turns(again), "a turn is lost in the surplus");
      BICRL_CHECK(again.experiences.size() == second.experiences.size());
      BICRL_CHECK(again.figures.sums[Sum::kSurplusTaken] > 0);
    });
  }
}

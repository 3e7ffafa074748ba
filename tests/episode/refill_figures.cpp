// What dynamic sampling makes of verdicts: simulated steps whose responses are correct with a given
// probability, through the rule (episode/refill.h) and the advantages that say what is informative. Without a
// policy: a response is a draw. Prints the tables of bench/refill.md; run by hand.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "common/rng.h"
#include "episode/refill.h"
#include "reward/advantage.h"

using namespace bicrl;

namespace {

constexpr int64_t kGroupsPerRound = 16;
constexpr int64_t kSamples = 8;
constexpr int64_t kSteps = 5000;

struct SimulatedPolicy {
  std::string name;
  RefillSettings settings;
  bool keeps_surplus = true;
};

struct Totals {
  int64_t verdicts = 0, used = 0, stale = 0, dropped = 0, rounds = 0, short_updates = 0;
  int64_t least = kGroupsPerRound;
};

// The draws are those of the group with this number in the run, whatever the policy.
bool is_informative(double pass_rate, uint64_t group) {
  RandomStream draws(mix_key({2026, group}));
  std::vector<Reward> rewards(kSamples);
  for (Reward& reward : rewards) reward.value = draws.uniform() < pass_rate ? 1 : 0;
  return group_advantage({}, rewards, 0).state == GroupState::kUsed;
}

Totals simulate(const SimulatedPolicy& policy, double pass_rate, int64_t wanted) {
  Totals totals;
  uint64_t group = 0;
  int64_t surplus = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    int64_t asked = 0, own = 0;
    while (const int64_t count = next_round(policy.settings, kGroupsPerRound, asked, surplus + own)) {
      for (int64_t i = 0; i < count; ++i) own += is_informative(pass_rate, group++);
      asked += count;
      ++totals.rounds;
    }
    const RefillChoice choice = choose_groups(policy.settings, surplus, own);
    const int64_t used = choice.taken + choice.used;
    totals.verdicts += asked * kSamples;
    totals.used += used;
    totals.stale += choice.taken;
    totals.dropped += choice.dropped + (policy.keeps_surplus ? 0 : choice.kept);
    totals.short_updates += used < wanted;
    totals.least = std::min(totals.least, used);
    surplus = policy.keeps_surplus ? choice.kept : 0;
  }
  return totals;
}

double share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1));
}

// Returns the informative groups used per 1,000 verdicts.
double print_row(double pass_rate, int64_t wanted, const SimulatedPolicy& policy) {
  const Totals t = simulate(policy, pass_rate, wanted);
  std::printf("| %.2f | %s | %.1f | %.1f | %lld | %.1f %% | %.1f %% | %.1f %% | %.0f | %.1f |\n", pass_rate,
              policy.name.c_str(), 1000 * share(t.used, t.verdicts), share(t.used, kSteps),
              static_cast<long long>(t.least), 100 * share(t.short_updates, kSteps),
              100 * share(t.stale, t.used), 100 * share(t.dropped, t.used + t.dropped),
              share(t.verdicts, kSteps), share(t.rounds, kSteps));
  return 1000 * share(t.used, t.verdicts);
}

}  // namespace

TEST_CASE("simulated steps with and without refill use as many informative groups of 1,000 verdicts",
          "[.figures]") {
  for (const int64_t wanted : {16, 8}) {
    const RefillSettings refill{.informative_groups = wanted, .at_most = 160};
    std::printf("\nInformative groups wanted: %lld of %lld a round, at most 160, %lld responses a group\n\n",
                static_cast<long long>(wanted), static_cast<long long>(kGroupsPerRound),
                static_cast<long long>(kSamples));
    std::printf(
        "| pass rate | policy | informative groups used per 1,000 verdicts | per update | least | updates "
        "below %lld | one step old | informative groups unused | verdicts a step | rounds |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n",
        static_cast<long long>(wanted));
    for (const double pass_rate : {0.02, 0.1, 0.5}) {
      const double expected =
          1000 * (1 - std::pow(pass_rate, kSamples) - std::pow(1 - pass_rate, kSamples)) / kSamples;
      CHECK(print_row(pass_rate, wanted, {"without the key", {}}) == Catch::Approx(expected).epsilon(0.02));
      const double refilled = print_row(pass_rate, wanted, {"refill", refill});
      CHECK(refilled == Catch::Approx(expected).epsilon(wanted == kGroupsPerRound ? 0.02 : 0.06));
      CHECK(print_row(pass_rate, wanted, {"refill, surplus thrown away", refill, false}) < 0.95 * refilled);
    }
  }
}

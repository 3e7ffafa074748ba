// Which groups a step asks and uses under dynamic sampling, against a step that is played group by group.
#include "episode/refill.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <deque>
#include <set>
#include <vector>

#include "common/config/config.h"
#include "common/rng.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Step {
  int64_t asked = 0, rounds = 0;
  std::vector<int64_t> trained;  // numbers of informative groups in the run, in the order of the update
  int64_t dropped = 0, kept = 0;

  bool operator==(const Step&) const = default;
};

// Whether the group that a run asks as number i is informative.
using Script = std::vector<bool>;

// By the rule: what a run does with so many steps.
std::vector<Step> by_rule(const RefillSettings& settings, int64_t groups_per_round, const Script& script,
                          int64_t steps) {
  std::vector<Step> run;
  std::vector<int64_t> surplus;
  int64_t next = 0;
  for (int64_t s = 0; s < steps; ++s) {
    Step& step = run.emplace_back();
    std::vector<int64_t> own;
    const auto informative = [&] { return static_cast<int64_t>(surplus.size() + own.size()); };
    while (const int64_t count = next_round(settings, groups_per_round, step.asked, informative())) {
      for (int64_t i = 0; i < count; ++i, ++next)
        if (script.at(static_cast<size_t>(next))) own.push_back(next);
      step.asked += count;
      ++step.rounds;
    }
    const RefillChoice choice =
        choose_groups(settings, static_cast<int64_t>(surplus.size()), static_cast<int64_t>(own.size()));
    step.trained.assign(surplus.begin(), surplus.begin() + choice.taken);
    step.trained.insert(step.trained.end(), own.begin(), own.begin() + choice.used);
    step.dropped = choice.dropped;
    step.kept = choice.kept;
    surplus.assign(own.begin() + choice.used, own.end());
  }
  return run;
}

// Group by group, each with the step that asked it; a round goes to its end, and a group is too old behind
// the step after its own.
std::vector<Step> by_hand(int64_t wanted, int64_t at_most, int64_t groups_per_round, const Script& script,
                          int64_t steps) {
  struct Group {
    int64_t number, step;
  };
  std::vector<Step> run;
  std::deque<Group> waiting;
  int64_t next = 0;
  for (int64_t s = 0; s < steps; ++s) {
    Step step;
    while (std::ssize(waiting) < wanted && step.asked < at_most) {
      ++step.rounds;
      for (int64_t in_round = 0; in_round < groups_per_round && step.asked < at_most; ++in_round) {
        if (script.at(static_cast<size_t>(next))) waiting.push_back({next, s});
        ++next;
        ++step.asked;
      }
    }
    while (!waiting.empty() && std::ssize(step.trained) < wanted) {
      step.trained.push_back(waiting.front().number);
      waiting.pop_front();
    }
    while (!waiting.empty() && waiting.front().step < s) {
      ++step.dropped;
      waiting.pop_front();
    }
    step.kept = std::ssize(waiting);
    run.push_back(step);
  }
  return run;
}

Script script_of(double rate, size_t groups, uint64_t key) {
  RandomStream draws(key);
  Script script(groups);
  for (size_t i = 0; i < groups; ++i) script[i] = draws.uniform() < rate;
  return script;
}

RefillSettings settings_from(const std::string& yaml, int64_t groups_per_round = 8) {
  const ConfigDocument document = ConfigDocument::from_text(yaml, "run.yaml");
  const RefillSettings settings = RefillSettings::from_config(document.root());
  settings.check_round(document.root(), "stages.0", groups_per_round);
  document.finish();
  return settings;
}

}  // namespace

TEST_CASE("rounds and surplus follow the groups one by one") {
  int64_t several_rounds = 0, without_round = 0, dropped = 0, short_steps = 0;
  for (uint64_t key = 0; key < 400; ++key) {
    RandomStream draws(mix_key({17, key}));
    const auto per_round = static_cast<int64_t>(1 + draws.below(9));
    const auto wanted = static_cast<int64_t>(1 + draws.below(static_cast<uint64_t>(per_round)));
    const int64_t at_most = per_round + static_cast<int64_t>(draws.below(20));
    const Script script = script_of(draws.uniform(), 400, mix_key({18, key}));
    const std::vector<Step> run =
        by_rule({.informative_groups = wanted, .at_most = at_most}, per_round, script, 12);
    CHECK(run == by_hand(wanted, at_most, per_round, script, 12));
    std::set<int64_t> trained;
    for (const Step& step : run) {
      CHECK(std::ranges::is_sorted(step.trained));
      CHECK(std::ssize(step.trained) <= wanted);
      for (const int64_t number : step.trained) {
        CHECK(script[static_cast<size_t>(number)]);
        CHECK(trained.insert(number).second);  // nothing is trained twice
      }
      several_rounds += step.rounds > 1;
      without_round += step.rounds == 0;
      dropped += step.dropped;
      short_steps += std::ssize(step.trained) < wanted;
    }
  }
  CHECK(several_rounds > 100);
  CHECK(without_round > 100);
  CHECK(dropped > 100);
  CHECK(short_steps > 100);
}

TEST_CASE("a step without refill is one round and uses every informative group") {
  const RefillSettings off = settings_from("{}");
  CHECK_FALSE(off.is_enabled());
  CHECK(next_round(off, 8, 0, 0) == 8);
  CHECK(next_round(off, 8, 8, 0) == 0);
  CHECK(choose_groups(off, 0, 5) == RefillChoice{.used = 5});
}

TEST_CASE("share of informative groups is of those that a full update takes") {
  const RefillSettings off = settings_from("{}");
  CHECK(informative_share(off, 0, 8) == 0);
  CHECK(informative_share(off, 2, 8) == 0.25);
  CHECK(informative_share(off, 8, 8) == 1);
  CHECK(informative_share(off, 0, 0) == 0);
  // With refill, whatever was asked for them: a step of surplus alone asks nothing.
  const RefillSettings refill = settings_from("{informative_groups: 4, at_most: 8}");
  CHECK(informative_share(refill, 4, 8) == 1);
  CHECK(informative_share(refill, 3, 8) == 0.75);
  CHECK(informative_share(refill, 4, 0) == 1);
}

TEST_CASE("refill refuses numbers that contradict each other by the key's name") {
  CHECK(settings_from("{informative_groups: 8, at_most: 8}").at_most == 8);
  const auto refused = [](const std::string& yaml, const std::string& key, const std::string& reason) {
    CHECK_THROWS_WITH(settings_from(yaml), ContainsSubstring(key + ": ") && ContainsSubstring(reason));
  };
  refused("{informative_groups: 9, at_most: 8}", "informative_groups", "'at_most: 8' allows a step fewer");
  refused("{informative_groups: 9, at_most: 32}", "informative_groups", "more than the 8 groups of stages.0");
  refused("{informative_groups: 4, at_most: 7}", "at_most", "fewer than the 8 groups of a round");
  refused("{informative_groups: 4}", "at_most", "is missing");
  refused("{at_most: 8}", "at_most", "has no effect with 'informative_groups: 0'");
  refused("{informative_groups: -1, at_most: 8}", "informative_groups", "0");
}

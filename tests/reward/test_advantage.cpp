#include "reward/advantage.h"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "common/rng.h"
#include "tests/support/support.h"

using namespace bicrl;
using Catch::Approx;

namespace {

constexpr double kNoFloor = 0;
// Those whose advantages of a group sum to zero.
constexpr AdvantageKind kKinds[] = {AdvantageKind::kZScore, AdvantageKind::kMeanOnly,
                                    AdvantageKind::kLeaveOneOut, AdvantageKind::kMaxAtK};

std::vector<Reward> rewards(const std::vector<double>& values) {
  std::vector<Reward> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) out[i].value = values[i];
  return out;
}

void mask(Reward& reward) {
  reward = Reward{};
  reward.masked = true;
}

// Groups as training meets them: few or many members, coarse or fine rewards, some masked.
std::vector<std::vector<Reward>> random_groups() {
  std::vector<std::vector<Reward>> groups;
  RandomStream random(mix_key({7}));
  for (int g = 0; g < 300; ++g) {
    std::vector<Reward> group(1 + random.below(20));
    const bool coarse = random.below(2);
    const double scale = std::pow(10.0, static_cast<double>(random.below(7)) - 3);
    for (Reward& reward : group) {
      reward.value = coarse ? static_cast<double>(random.below(2)) : scale * random.normal();
      if (random.below(5) == 0) mask(reward);
    }
    groups.push_back(group);
  }
  return groups;
}

}  // namespace

TEST_CASE("rejection sampling imitates a group's best, all of them if several are equal") {
  const auto best = [](const std::vector<Reward>& group) {
    return group_advantage({AdvantageKind::kBest}, group, kNoFloor);
  };
  CHECK(best(rewards({0, 2.5, 1, 2.5})).advantages == std::vector<double>{0, 1, 0, 1});
  CHECK(best(rewards({-3, -1, -2})).advantages == std::vector<double>{0, 1, 0});
  CHECK(best(rewards({2, 2, 2})).state == GroupState::kZeroVariance);
  auto group = rewards({1, 9, 4});
  mask(group[1]);
  const GroupAdvantage masked = best(group);
  CHECK(masked.advantages == std::vector<double>{0, 0, 1});
  CHECK(masked.weights == std::vector<double>{1, 0, 1});
  CHECK(parse_advantage_kind("best") == AdvantageKind::kBest);
}

TEST_CASE("one success among sixteen has the published z-score") {
  std::vector<double> values(16, 0.0);
  values[3] = 1;
  const GroupAdvantage group = group_advantage({AdvantageKind::kZScore}, rewards(values), kNoFloor);
  CHECK(group.state == GroupState::kUsed);
  CHECK(group.advantages[3] == Approx(std::sqrt(15.0)).epsilon(1e-14));
  CHECK(group.advantages[0] == Approx(-1 / std::sqrt(15.0)).epsilon(1e-14));
  CHECK(group.mean == Approx(1.0 / 16));
  CHECK(group.counted == 16);
  CHECK(group.deviation == Approx(std::sqrt(15.0) / 16));
}

TEST_CASE("k successes of n: closed forms of the three kinds") {
  for (int n = 2; n <= 16; ++n)
    for (int k = 1; k < n; ++k) {
      std::vector<double> values(n, 0.0);
      for (int i = 0; i < k; ++i) values[i] = 1;
      const double p = double(k) / n;
      const auto at = [&](AdvantageKind kind, int i) {
        return group_advantage({kind}, rewards(values), kNoFloor).advantages[i];
      };
      CHECK(at(AdvantageKind::kZScore, 0) == Approx(std::sqrt((1 - p) / p)));
      CHECK(at(AdvantageKind::kZScore, n - 1) == Approx(-std::sqrt(p / (1 - p))));
      CHECK(at(AdvantageKind::kMeanOnly, 0) == Approx(1 - p));
      CHECK(at(AdvantageKind::kMeanOnly, n - 1) == Approx(-p));
      CHECK(at(AdvantageKind::kLeaveOneOut, 0) == Approx(1 - double(k - 1) / (n - 1)));
      CHECK(at(AdvantageKind::kLeaveOneOut, n - 1) == Approx(-double(k) / (n - 1)));
    }
}

TEST_CASE("groups without a difference are dropped") {
  for (AdvantageKind kind : kKinds)
    for (double value : {0.0, 1.0, -3.5, 1e9, 0.1}) {
      const GroupAdvantage group = group_advantage({kind}, rewards(std::vector<double>(16, value)), kNoFloor);
      CHECK(group.state == GroupState::kZeroVariance);
      CHECK(group.dropped());
      CHECK(group.mean == Approx(value));
      CHECK(group.counted == 16);
      for (size_t i = 0; i < 16; ++i) {
        CHECK(group.advantages[i] == 0);
        CHECK(group.weights[i] == 0);
      }
    }
  // Rounding alone is no difference, however the sum was formed.
  CHECK(group_advantage({AdvantageKind::kZScore}, rewards({0.1 + 0.2, 0.3, 0.3}), kNoFloor).state ==
        GroupState::kZeroVariance);
  CHECK(group_advantage({AdvantageKind::kZScore}, rewards({1e-6, 2e-6}), kNoFloor).state ==
        GroupState::kUsed);
}

TEST_CASE("groups without a difference that are kept have advantage 0, and others are as they were") {
  for (AdvantageKind kind : kKinds) {
    const AdvantageSettings keeps{.kind = kind, .keeps_equal = true};
    auto equal = rewards({2, 2, 9, 2});
    mask(equal[2]);
    const GroupAdvantage kept = group_advantage(keeps, equal, kNoFloor);
    CHECK(kept.state == GroupState::kZeroVariance);
    CHECK(kept.is_kept);
    CHECK_FALSE(kept.dropped());
    CHECK(kept.weights == std::vector<double>{1, 1, 0, 1});
    CHECK(kept.advantages == std::vector<double>(4, 0));
    CHECK(kept.deviation == 0);
    GroupAdvantage shuffled = kept;
    shuffle_advantages(shuffled, 3);
    CHECK(shuffled.advantages == kept.advantages);
    const GroupAdvantage few = group_advantage(keeps, rewards({1}), kNoFloor);
    CHECK(few.dropped());
    CHECK(few.weights == std::vector<double>{0});
    const auto different = rewards({1, 0, 0.5, 2});
    const GroupAdvantage used = group_advantage(keeps, different, kNoFloor);
    CHECK_FALSE(used.is_kept);
    CHECK(used.advantages == group_advantage({kind}, different, kNoFloor).advantages);
    CHECK(used.weights == std::vector<double>(4, 1));
  }
}

TEST_CASE("too few members to compare") {
  for (AdvantageKind kind : kKinds) {
    CHECK(group_advantage({kind}, {}, kNoFloor).state == GroupState::kTooFew);
    const GroupAdvantage one = group_advantage({kind}, rewards({1}), kNoFloor);
    CHECK(one.state == GroupState::kTooFew);
    CHECK(one.counted == 1);
    CHECK(one.mean == 1);
    CHECK(one.weights == std::vector<double>{0});
    auto all_masked = rewards({1, 0, 1});
    for (Reward& reward : all_masked) mask(reward);
    const GroupAdvantage none = group_advantage({kind}, all_masked, kNoFloor);
    CHECK(none.state == GroupState::kTooFew);
    CHECK(none.counted == 0);
    CHECK(none.advantages == std::vector<double>(3, 0));
    auto one_left = rewards({1, 0, 1});
    mask(one_left[0]);
    mask(one_left[2]);
    CHECK(group_advantage({kind}, one_left, kNoFloor).state == GroupState::kTooFew);
  }
}

TEST_CASE("masked members change nothing for the others") {
  for (AdvantageKind kind : kKinds) {
    const GroupAdvantage without = group_advantage({kind}, rewards({1, 0, 0.5, 2}), kNoFloor);
    auto with = rewards({1, 7, 0, 0.5, -9, 2});
    mask(with[1]);
    mask(with[4]);
    const GroupAdvantage masked = group_advantage({kind}, with, kNoFloor);
    CHECK(masked.counted == 4);
    CHECK(masked.mean == without.mean);
    CHECK(masked.deviation == without.deviation);
    CHECK(masked.weights == std::vector<double>{1, 0, 1, 1, 0, 1});
    CHECK(masked.advantages == std::vector<double>{without.advantages[0], 0, without.advantages[1],
                                                   without.advantages[2], 0, without.advantages[3]});
    // An infrastructure fault is not a failure: with a zero in its place the group would look different.
    CHECK(group_advantage({kind}, rewards({1, 0, 0, 0.5, 0, 2}), kNoFloor).advantages[0] !=
          masked.advantages[0]);
  }
}

TEST_CASE("properties of advantages on random groups") {
  int used = 0;
  for (const auto& group : random_groups()) {
    for (AdvantageKind kind : kKinds) {
      const GroupAdvantage result = group_advantage({kind}, group, kNoFloor);
      if (result.dropped()) continue;
      ++used;
      double sum = 0, squares = 0, largest = 0;
      for (size_t i = 0; i < group.size(); ++i) {
        CHECK(result.weights[i] == (group[i].masked ? 0 : 1));
        sum += result.advantages[i];
        squares += result.advantages[i] * result.advantages[i];
        largest = std::max(largest, std::abs(result.advantages[i]));
      }
      CHECK(std::abs(sum) <= 1e-12 * largest * static_cast<double>(group.size()));
      if (kind == AdvantageKind::kZScore) CHECK(squares / result.counted == Approx(1));
      // Shifting the rewards changes no advantage; scaling them scales all but the z-score.
      auto moved = group;
      for (Reward& reward : moved)
        if (!reward.masked) reward.value = 4 * reward.value + 16 * result.deviation;
      const GroupAdvantage other = group_advantage({kind}, moved, kNoFloor);
      const double factor = kind == AdvantageKind::kZScore ? 1 : 4;
      for (size_t i = 0; i < group.size(); ++i)
        CHECK(std::abs(other.advantages[i] - factor * result.advantages[i]) <= 1e-10 * factor * largest);
    }
  }
  CHECK(used > 500);
}

TEST_CASE("times that jitter by 1 % make small advantages under a floor") {
  // Eight correct programs, equally fast: twice as fast as eager, measured 1 % too low or too high.
  const RewardFunction speedup = RewardFunction::from_text("rule: speedup", "reward.yaml");
  std::vector<Reward> group;
  for (int i = 0; i < 8; ++i) {
    Verdict verdict;
    verdict.outcome = Outcome::kGraded;
    verdict.correct = true;
    verdict.candidate_ms = 1;
    verdict.eager_ms = i % 2 ? 2.02 : 1.98;
    verdict.clock = "measured";
    group.push_back(speedup.evaluate(verdict, false));
  }
  const GroupAdvantage bare = group_advantage({AdvantageKind::kZScore}, group, kNoFloor);
  const GroupAdvantage floored = group_advantage({AdvantageKind::kZScore}, group, speedup.min_deviation());
  for (size_t i = 0; i < 8; ++i) {
    CHECK(bare.advantages[i] == Approx(i % 2 ? 1 : -1));
    CHECK(floored.advantages[i] == Approx(i % 2 ? 0.4 : -0.4));  // 0.02 / 0.05
    CHECK(floored.weights[i] == 1);
  }
  CHECK(floored.state == GroupState::kUsed);
  // What is reported is the deviation of the rewards.
  CHECK(floored.deviation == Approx(0.02));
  CHECK(floored.deviation == bare.deviation);
  CHECK(floored.mean == bare.mean);
  // One program among them that fails is a difference above the floor, and counts in full.
  Verdict failed;
  failed.outcome = Outcome::kCandidateFault;
  group[3] = speedup.evaluate(failed, false);
  CHECK(group_advantage({AdvantageKind::kZScore}, group, speedup.min_deviation()).advantages ==
        group_advantage({AdvantageKind::kZScore}, group, kNoFloor).advantages);
}

TEST_CASE("binary rewards have the same advantages as ever, bit for bit") {
  struct Case {
    int members, correct;
    double incorrect_reward, correct_reward;
    double advantage_correct, advantage_incorrect;
  };
  // Written down before there was a floor.
  const Case cases[] = {{16, 1, 0, 1, 0x1.efbdeb14f4ed9p+1, -0x1.08654a2d4f6dbp-2},
                        {16, 5, 0, 1, 0x1.7bb598c88b4adp+0, -0x1.5930b9707ea11p-1},
                        {8, 3, 0, 1, 0x1.4a7e9cb8a3491p+0, -0x1.8c97ef43f7248p-1},
                        {8, 7, 0, 1, 0x1.83091e6a7f7e6p-2, -0x1.52a7fa9d2f8e9p+1},
                        {16, 11, -1, 2, 0x1.5930b9707ea1p-1, -0x1.7bb598c88b4adp+0},
                        {3, 1, 0, 1, 0x1.6a09e667f3bccp+0, -0x1.6a09e667f3bcdp-1}};
  for (const Case& c : cases) {
    const RewardFunction reward = RewardFunction::from_text(
        concat("rule: binary\nincorrect: ", c.incorrect_reward, "\ncorrect: ", c.correct_reward),
        "reward.yaml");
    std::vector<double> values(static_cast<size_t>(c.members), c.incorrect_reward);
    std::fill_n(values.begin(), c.correct, c.correct_reward);
    const auto advantages =
        group_advantage({AdvantageKind::kZScore}, rewards(values), reward.min_deviation()).advantages;
    CHECK(advantages.front() == c.advantage_correct);
    CHECK(advantages.back() == c.advantage_incorrect);
  }
}

TEST_CASE("properties of a floor on random groups") {
  int raised = 0, untouched = 0;
  for (const auto& group : random_groups()) {
    const GroupAdvantage bare = group_advantage({AdvantageKind::kZScore}, group, kNoFloor);
    for (double share : {0.0, 0.5, 1.0, 2.0, 40.0}) {
      const double floor = share * bare.deviation;
      // The other kinds divide by nothing.
      for (AdvantageKind kind : {AdvantageKind::kMeanOnly, AdvantageKind::kLeaveOneOut})
        CHECK(group_advantage({kind}, group, floor).advantages ==
              group_advantage({kind}, group, kNoFloor).advantages);
      const GroupAdvantage floored = group_advantage({AdvantageKind::kZScore}, group, floor);
      CHECK(floored.state == bare.state);
      CHECK(floored.weights == bare.weights);
      CHECK(floored.mean == bare.mean);
      CHECK(floored.deviation == bare.deviation);
      if (share <= 1) {
        untouched += !bare.dropped();
        CHECK(floored.advantages == bare.advantages);
        continue;
      }
      if (bare.dropped()) continue;
      ++raised;
      // Smaller by one factor: signs, order and a sum of 0 stay.
      for (size_t i = 0; i < group.size(); ++i)
        CHECK(floored.advantages[i] == Approx(bare.advantages[i] / share).epsilon(1e-12));
      // Shifted rewards change nothing; rewards and floor in another unit change nothing.
      auto shifted = group, scaled = group;
      for (Reward& reward : shifted)
        if (!reward.masked) reward.value += 16 * bare.deviation;
      for (Reward& reward : scaled)
        if (!reward.masked) reward.value *= 4;
      const auto of_shifted = group_advantage({AdvantageKind::kZScore}, shifted, floor).advantages;
      for (size_t i = 0; i < group.size(); ++i)
        CHECK(of_shifted[i] == Approx(floored.advantages[i]).margin(1e-10));
      CHECK(group_advantage({AdvantageKind::kZScore}, scaled, 4 * floor).advantages == floored.advantages);
    }
  }
  CHECK(raised > 200);
  CHECK(untouched > 300);
}

TEST_CASE("an impossible floor is refused") {
  for (double floor : {-1e-300, double(NAN), double(INFINITY)})
    for (AdvantageKind kind : kKinds) CHECK_THROWS_AS(group_advantage({kind}, rewards({1, 0}), floor), Error);
}

TEST_CASE("advantages agree with an independent computation in Python") {
  nlohmann::json cases = nlohmann::json::array();
  RandomStream random(mix_key({8}));
  for (const auto& group : random_groups())
    for (AdvantageKind kind : kKinds) {
      const double floor = random.below(2) ? std::pow(10.0, 6 * random.uniform() - 4) : kNoFloor;
      const GroupAdvantage result = group_advantage({kind}, group, floor);
      nlohmann::json values = nlohmann::json::array();
      for (const Reward& reward : group)
        values.push_back(reward.masked ? nlohmann::json() : nlohmann::json(reward.value));
      cases.push_back({{"kind", to_string(kind)},
                       {"min_deviation", floor},
                       {"rewards", values},
                       {"state", to_string(result.state)},
                       {"advantages", result.advantages},
                       {"mean", result.mean},
                       {"deviation", result.deviation}});
    }
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "advantages.json";
  write_file_atomically(path, cases.dump());
  testing::run_python(bicrl::testing::source_path("tests/reward/advantage_oracle.py"), {path.string()});
}

TEST_CASE("extreme rewards stay finite, impossible ones are refused") {
  for (AdvantageKind kind : kKinds)
    for (const auto& values :
         std::vector<std::vector<double>>{{1e300, -1e300, 0}, {1e-300, 0}, {1e100, 1e100 + 1e90}})
      for (double advantage : group_advantage({kind}, rewards(values), kNoFloor).advantages)
        CHECK(std::isfinite(advantage));
  CHECK_THROWS_AS(group_advantage({AdvantageKind::kZScore}, rewards({1, NAN}), kNoFloor), Error);
  CHECK_THROWS_AS(group_advantage({AdvantageKind::kZScore}, rewards({1, INFINITY}), kNoFloor), Error);
}

TEST_CASE("a group that is dropped keeps its statistics") {
  for (AdvantageKind kind : kKinds) {
    auto members = rewards({0.5, 9, 0.5, 0.5});
    mask(members[1]);
    const GroupAdvantage dropped = group_advantage({kind}, members, kNoFloor);
    CHECK(dropped.state == GroupState::kZeroVariance);
    CHECK(dropped.counted == 3);
    CHECK(dropped.mean == 0.5);
    CHECK(dropped.deviation == 0);
    CHECK(dropped.weights == std::vector<double>(4, 0));
    // One left over says how it fared, though it teaches nothing.
    auto one = rewards({-0.25, 9});
    mask(one[1]);
    const GroupAdvantage few = group_advantage({kind}, one, kNoFloor);
    CHECK(few.state == GroupState::kTooFew);
    CHECK(few.mean == -0.25);
    CHECK(few.counted == 1);
  }
  for (GroupState state : {GroupState::kUsed, GroupState::kZeroVariance, GroupState::kTooFew})
    CHECK_FALSE(to_string(state).empty());
}

TEST_CASE("two members stand against each other") {
  const auto at = [](AdvantageKind kind) {
    return group_advantage({kind}, rewards({3, 1}), kNoFloor).advantages;
  };
  CHECK(at(AdvantageKind::kZScore) == std::vector<double>{1, -1});
  CHECK(at(AdvantageKind::kMeanOnly) == std::vector<double>{1, -1});
  CHECK(at(AdvantageKind::kLeaveOneOut) == std::vector<double>{2, -2});
}

TEST_CASE("what is not a number is refused where it counts") {
  for (AdvantageKind kind : kKinds) {
    for (double bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
      CHECK_THROWS_AS(group_advantage({kind}, rewards({bad}), kNoFloor), Error);
      CHECK_THROWS_AS(group_advantage({kind}, rewards({bad, bad}), kNoFloor), Error);
      auto members = rewards({1, bad, 0});
      members[1].masked = true;  // its value is nobody's
      CHECK(group_advantage({kind}, members, kNoFloor).counted == 2);
      CHECK(group_advantage({kind}, members, kNoFloor).advantages[1] == 0);
    }
    CHECK_THROWS_AS(group_advantage({kind}, rewards({1.7e308, -1.7e308}), kNoFloor), Error);
  }
}

TEST_CASE("shuffled advantages are the same advantages in other hands") {
  std::vector<double> values(16);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * i);
  auto members = rewards(values);
  mask(members[3]);
  const GroupAdvantage group = group_advantage({AdvantageKind::kZScore}, members, kNoFloor);
  int moved = 0;
  for (uint64_t key = 0; key < 20; ++key) {
    GroupAdvantage shuffled = group, again = group;
    shuffle_advantages(shuffled, key);
    shuffle_advantages(again, key);
    CHECK(shuffled.advantages == again.advantages);
    CHECK(shuffled.weights == group.weights);
    CHECK(shuffled.advantages[3] == 0);
    moved += shuffled.advantages != group.advantages;
    auto sorted = group.advantages;
    std::ranges::sort(sorted);
    std::ranges::sort(shuffled.advantages);
    CHECK(shuffled.advantages == sorted);
  }
  CHECK(moved == 20);
  GroupAdvantage dropped = group_advantage({AdvantageKind::kZScore}, rewards({1, 1}), kNoFloor);
  shuffle_advantages(dropped, 1);
  CHECK(dropped.advantages == std::vector<double>{0, 0});
}

TEST_CASE("kinds of advantage by name") {
  for (AdvantageKind kind : kKinds) CHECK(parse_advantage_kind(to_string(kind)) == kind);
  CHECK_THROWS_AS(parse_advantage_kind("z_score"), InputError);
}

TEST_CASE("advantage settings come from a stage's section, and rescoring reads them in a stored line") {
  const auto read = [](const std::string& yaml) {
    const auto document = ConfigDocument::from_text(yaml, "test.yaml");
    const auto settings = AdvantageSettings::from_config(document.root(), /*samples_per_task=*/8);
    document.finish();
    return settings;
  };
  CHECK(read("{}").kind == AdvantageKind::kZScore);
  CHECK_FALSE(read("{}").shuffled);
  CHECK(read("{shuffled_advantages: true}").shuffled);
  CHECK(read("{advantage: max_at_k}").k == 4);  // half of the group
  CHECK(read("{advantage: max_at_k, advantage_k: 7}").k == 7);
  CHECK_THROWS_AS(read("{advantage: max_at_k, advantage_k: 8}"), InputError);
  CHECK_THROWS_AS(read("{advantage: mean_only, advantage_k: 2}"), InputError);
  const nlohmann::json line = to_json(read("{advantage: max_at_k, advantage_k: 3}"));
  CHECK(line == nlohmann::json{{"advantage", "max_at_k"}, {"advantage_k", 3}});
  CHECK(advantage_from_json(line).k == 3);
  CHECK(to_json(read("{advantage: best}")) == nlohmann::json{{"advantage", "best"}});
  CHECK_THROWS_AS(advantage_from_json({{"advantage", "max_at_k"}, {"advantage_k", 0}}), InputError);
}

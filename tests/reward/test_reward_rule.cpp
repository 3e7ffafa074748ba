#include "reward/reward_rule.h"
#include "tests/reward/verdicts.h"
#include "tests/support/support.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

Verdict with_outcome(Outcome outcome) {
  Verdict v;
  v.outcome = outcome;
  return v;
}

}  // namespace

TEST_CASE("binary: 1 for correct, 0 for everything else") {
  const RewardFunction binary = rule_of("rule: binary");
  CHECK(binary.rule_name() == "binary");
  CHECK_FALSE(binary.uses_times());
  CHECK(value_of(binary, graded(true)) == 1);
  CHECK(value_of(binary, timed(100)) == 1);
  CHECK(value_of(binary, graded(false)) == 0);
  CHECK(value_of(binary, with_outcome(Outcome::kCandidateFault)) == 0);
  // A verdict that contradicts itself earns nothing.
  Verdict contradictory = with_outcome(Outcome::kCandidateFault);
  contradictory.correct = true;
  CHECK(value_of(binary, contradictory) == 0);
  const Reward reward = binary.evaluate(graded(true), false);
  CHECK(reward.terms == std::vector<RewardTerm>{{"correct", 1}});
  CHECK_FALSE(reward.masked);

  const RewardFunction other = RewardFunction::from_text("rule: binary\ncorrect: 2\nincorrect: -1",
                                                         "reward.yaml", VerdictOrigin::kStored);
  CHECK(value_of(other, graded(true)) == 2);
  CHECK(value_of(other, graded(false)) == -1);
}

TEST_CASE("speedup: a part for correctness and the capped speed-up above the margin") {
  const RewardFunction speedup = rule_of("rule: speedup");
  CHECK(speedup.uses_times());
  CHECK(value_of(speedup, timed(2)) == 2.3);
  CHECK(value_of(speedup, timed(1.06)) == 0.3 + 1.06);
  CHECK(value_of(speedup, timed(1.04)) == 0.3);
  CHECK(value_of(speedup, timed(0.5)) == 0.3);
  CHECK(value_of(speedup, timed(3)) == 3.3);
  CHECK(value_of(speedup, timed(1000)) == 3.3);
  CHECK(value_of(speedup, graded(true)) == 0.3);  // not timed
  CHECK(value_of(speedup, graded(false)) == 0);
  Verdict incorrect_and_fast = timed(3);
  incorrect_and_fast.correct = false;
  CHECK(value_of(speedup, incorrect_and_fast) == 0);
  CHECK(speedup.evaluate(timed(2), false).terms == std::vector<RewardTerm>{{"correct", 0.3}, {"speedup", 2}});
}

TEST_CASE("modelled times count where the file says so, and are named as such") {
  Verdict v = timed(2);
  v.clock = kModelClock;
  const Reward reward = rule_of("rule: speedup\nclock: model").evaluate(v, false);
  CHECK(reward.value == 2.3);
  CHECK(reward.terms == std::vector<RewardTerm>{{"correct", 0.3}, {"modelled_speedup", 2}});
  // A file that names no clock takes measured times alone, and one that names the model no others.
  CHECK(value_of(rule_of("rule: speedup"), v) == 0.3);
  CHECK(value_of(rule_of("rule: speedup\nclock: model"), timed(2)) == 0.3);
  v.torch_compile_ms = v.candidate_ms * 2;
  CHECK(value_of(rule_of("rule: milestone\nclock: model\nfaster_than_both: 3"), v) == 3);
  CHECK(value_of(rule_of("rule: profile\nclock: model"), v) == 3);
}

TEST_CASE("impossible times earn no speed-up") {
  const RewardFunction speedup = rule_of("rule: speedup");
  for (const auto& [candidate_ms, eager_ms] :
       std::vector<std::pair<double, double>>{{0, 1},
                                              {-1, 1},
                                              {1, -1},
                                              {1, 0},
                                              {std::numeric_limits<double>::quiet_NaN(), 1},
                                              {1, std::numeric_limits<double>::quiet_NaN()},
                                              {1, std::numeric_limits<double>::infinity()},
                                              {5e-324, 1e308}}) {
    Verdict v = timed(2);
    v.candidate_ms = candidate_ms;
    v.eager_ms = eager_ms;
    CAPTURE(candidate_ms, eager_ms);
    CHECK(value_of(speedup, v) == 0.3);
  }
}

TEST_CASE("speed-up never lowers a reward") {
  const RewardFunction speedup =
      rule_of("rule: speedup\nmin_speedup: 1.1\nmax_speedup: 2.5\nspeedup_weight: 0.5\ncorrect: 0.4");
  double last = 0;
  for (int i = 0; i < 400; ++i) {
    const double now = value_of(speedup, timed(i * 0.01));
    CHECK(now >= last);
    last = now;
  }
  CHECK(last == 0.4 + 0.5 * 2.5);
}

TEST_CASE("infrastructure outcomes are masked by every rule, never 0") {
  for (const auto& name : reward_rule_names())
    for (const char* truncated : {"score", "mask", "penalise"}) {
      Verdict v = graded(true);  // whatever else the verdict says
      v.outcome = Outcome::kInfrastructure;
      const std::string parts = name == "composite" ? "\nrules: [{rule: binary}]" : "";
      const Reward reward = rule_of("rule: " + name + parts + "\ntruncated: " + truncated).evaluate(v, false);
      CHECK(reward.masked);
      CHECK(reward.mask_reason == "infrastructure");
      CHECK(reward.terms.empty());
    }
}

TEST_CASE("truncated responses follow their own policy") {
  const Verdict good = graded(true);
  const Verdict none;  // never asked for
  const RewardFunction masking = rule_of("rule: binary");
  CHECK(masking.evaluate(none, true).masked);
  CHECK(masking.evaluate(good, true).mask_reason == "truncated");
  CHECK_FALSE(masking.needs_verdict(true));
  CHECK(masking.needs_verdict(false));

  const RewardFunction scoring = rule_of("rule: binary\ntruncated: score");
  CHECK(scoring.evaluate(good, true).value == 1);
  CHECK(scoring.evaluate(none, true).mask_reason == "infrastructure");
  CHECK(scoring.needs_verdict(true));

  const RewardFunction penalising = rule_of("rule: binary\ntruncated: penalise\ntruncated_value: -0.5");
  CHECK(penalising.evaluate(good, true).value == -0.5);
  CHECK(penalising.evaluate(none, true).terms == std::vector<RewardTerm>{{"truncated", -0.5}});
  CHECK_FALSE(penalising.evaluate(none, true).masked);
  CHECK_FALSE(penalising.needs_verdict(true));
  CHECK(penalising.evaluate(good, false).value == 1);
}

TEST_CASE("responses near their limit lose in proportion") {
  const Verdict good = graded(true);
  const std::string ramp = "rule: binary\nlength_ramp: {tokens: 8, penalty: 0.5}\ntruncated: ";
  const RewardFunction scoring = rule_of(ramp + "score");
  for (const auto& [left, lost] : {std::pair{8, 0.0}, {100, 0.0}, {6, 0.125}, {4, 0.25}, {0, 0.5}})
    CHECK(scoring.evaluate(good, false, left).terms ==
          std::vector<RewardTerm>{{"correct", 1}, {"length", -lost}});
  CHECK(scoring.evaluate(good, false).value == 1);
  CHECK(scoring.evaluate(good, true, 0).value == 0.5);
  CHECK(scoring.evaluate(graded(false), false, 4).value == -0.25);
  CHECK(rule_of(ramp + "mask").evaluate(good, true, 0).masked);
  CHECK(rule_of(ramp + "penalise\ntruncated_value: -2").evaluate(good, true, 0).value == -2);
  CHECK(rule_of("rule: binary").evaluate(good, false, 0).terms.size() == 1);
  CHECK_THROWS_WITH(rule_of("rule: binary\nlength_ramp: {tokens: 8}"),
                    ContainsSubstring("length_ramp.penalty"));
  CHECK_THROWS_WITH(rule_of("rule: binary\nlength_ramp: {penalty: 1}"),
                    ContainsSubstring("length_ramp.tokens"));
}

TEST_CASE("every rule has a floor under the deviation of a group, and a file may name another") {
  const auto floor = [](const std::string& yaml) { return rule_of(yaml).min_deviation(); };
  // Steps far apart need none.
  CHECK(floor("rule: binary") == 0);
  CHECK(floor("rule: milestone") == 0);
  CHECK(floor("rule: pass_rate") == 0);
  // A speed-up is worth its weight, and so is its noise.
  CHECK(floor("rule: speedup") == 0.05);
  CHECK(floor("rule: speedup\nspeedup_weight: 4") == 0.2);
  CHECK(floor("rule: profile\nspeedup_weight: 0.5") == 0.025);
  CHECK(floor("rule: pass_rate\nspeedup_weight: 2") == 0.1);
  CHECK(floor("rule: composite\nrules:\n  - {rule: binary, weight: 9}") == 0);
  CHECK(floor("rule: composite\nrules:\n  - {rule: speedup, weight: 0.25}\n  - {rule: profile, weight: 0.5}\n"
              "  - {rule: pass_rate, weight: 0}\n") == 0.25 * 0.05 + 0.5 * 0.05);

  CHECK(floor("rule: binary\nmin_deviation: 0.25") == 0.25);
  CHECK(floor("rule: speedup\nmin_deviation: 0") == 0);
  CHECK(floor("rule: composite\nmin_deviation: 0.5\nrules:\n  - rule: speedup") == 0.5);
  CHECK_THAT(rule_of("rule: speedup").resolved_yaml(), ContainsSubstring("min_deviation: 0.05\n"));
  // Above all a rule can ask for by itself, so that what is printed can be read.
  const RewardFunction steep = rule_of(
      "rule: composite\nrules:\n"
      "  - {rule: speedup, weight: 1e6, speedup_weight: 1e6}\n"
      "  - {rule: profile, weight: 1e6, speedup_weight: 1e6}\n");
  CHECK(steep.min_deviation() == 1e11);
  CHECK(rule_of(steep.resolved_yaml()).min_deviation() == 1e11);

  CHECK_THAT(refusal_of("rule: binary\nmin_deviation: -0.1"),
             ContainsSubstring("reward.yaml:2: min_deviation: expected a number"));
  CHECK_THAT(refusal_of("rule: binary\nmin_deviation: .inf"),
             ContainsSubstring("reward.yaml:2: min_deviation"));
  CHECK_THAT(refusal_of("rule: binary\nmin_deviaton: 0.1"), ContainsSubstring("did you mean min_deviation?"));
  CHECK_THAT(refusal_of("rule: composite\nrules:\n  - rule: binary\n    min_deviation: 1"),
             ContainsSubstring("reward.yaml:4: unknown key rules.0.min_deviation"));
}

TEST_CASE("a rule that pays the same for every program is refused") {
  for (const char* name : {"profile", "speedup"}) {
    const std::string start = concat("rule: ", name, "\ncorrect: 0\nspeedup_weight: ");
    CHECK_THAT(refusal_of(start + "0"), ContainsSubstring("reward.yaml:2: correct: must be above 0, or"));
    CHECK(value_of(rule_of(start + "1"), timed(2)) == 2);
  }
  const std::string flat = "rule: pass_rate\nfailed: 1\npartial_base: 1\npartial_weight: 0\ncorrect: 1";
  CHECK_THAT(refusal_of(flat), ContainsSubstring("reward.yaml:2: failed: must be less than 'correct', or"));
  CHECK(value_of(rule_of(flat + "\nspeedup_weight: 1"), timed(2)) == 2);
  CHECK_THAT(refusal_of("rule: composite\nrules: [{rule: profile, correct: 0, speedup_weight: 0}]"),
             ContainsSubstring("correct: must be above 0, or"));
}

TEST_CASE("unknown rules and parameters are refused with their place") {
  std::string names;
  for (const std::string& name : reward_rule_names()) names += (names.empty() ? "" : ", ") + name;
  CHECK_THAT(names, ContainsSubstring("binary, composite"));
  CHECK_THAT(refusal_of("rule: binery"), ContainsSubstring("reward.yaml:1: rule: expected one of " + names) &&
                                             ContainsSubstring("did you mean binary?"));
  CHECK_THAT(refusal_of(""), ContainsSubstring("rule: is required and missing"));
  CHECK_THAT(refusal_of("rule: binary\ncorect: 1"),
             ContainsSubstring("reward.yaml:2: unknown key corect; did you mean correct?"));
  CHECK_THAT(refusal_of("rule: binary\nmax_speedup: 3"),
             ContainsSubstring("reward.yaml:2: unknown key max_speedup"));
  CHECK_THAT(refusal_of("rule: binary\nincorrect: 1"),
             ContainsSubstring("reward.yaml:2: incorrect: must be less than 'correct'"));
  for (const char* rule : {"binary", "milestone"})
    CHECK_THAT(refusal_of(concat("rule: ", rule, "\nwrong: -1")),
               ContainsSubstring("reward.yaml:2: unknown key wrong; it is called incorrect now"));
  CHECK_THAT(refusal_of("rule: binary\ncorrect: .inf"),
             ContainsSubstring("reward.yaml:2: correct: expected a number"));
  CHECK_THAT(refusal_of("rule: speedup\nmax_speedup: 1"),
             ContainsSubstring("must not be less than 'min_speedup'"));
  CHECK_THAT(refusal_of("rule: speedup\ncorrect: -1"), ContainsSubstring("expected a number"));
  CHECK_THAT(refusal_of("rule: binary\ntruncated: drop"),
             ContainsSubstring("expected one of score, mask, penalise"));
  CHECK_THAT(refusal_of("rule: binary\ntruncated_value: 1"),
             ContainsSubstring("counts only with 'truncated: penalise'"));
}

TEST_CASE("the files under configs/rewards hold the published forms") {
  const std::filesystem::path folder = bicrl::testing::source_path("configs/rewards");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const RewardFunction function = RewardFunction::from_file(entry.path());
    const std::string name = entry.path().stem();
    CHECK(function.rule_name() == (name == "modelled_speedup" ? "profile" : name));
    // Its resolved form is the same function.
    CHECK(RewardFunction::from_text(function.resolved_yaml(), "resolved").resolved_yaml() ==
          function.resolved_yaml());
    ++files;
  }
  CHECK(files == static_cast<int>(reward_rule_names().size()) + 1);  // one for every rule
  const auto binary = RewardFunction::from_file(folder / "binary.yaml");
  CHECK(binary.evaluate(graded(true), false).value == 1);
  CHECK(binary.evaluate(graded(false), false).value == 0);
  CHECK(RewardFunction::from_file(folder / "speedup.yaml").evaluate(timed(2), false).value == 2.3);
  CHECK(RewardFunction::from_file(folder / "speedup.yaml", {"correct=0"}).evaluate(timed(2), false).value ==
        2);
}

TEST_CASE("modelled_speedup: correctness and the modelled speed-up up to 4") {
  const auto reward =
      RewardFunction::from_file(bicrl::testing::source_path("configs/rewards/modelled_speedup.yaml"));
  CHECK(reward.clock() == kModelClock);
  CHECK(reward.uses_times());
  const auto worth = [&](double speedup) {
    Verdict v = timed(speedup);
    v.clock = kModelClock;
    return reward.evaluate(v, false).value;
  };
  CHECK(worth(0.25) == 1.25);
  CHECK(worth(3.5) == 4.5);
  CHECK(worth(9) == 5);
  CHECK(reward.evaluate(timed(2), false).value == 1);  // measured, by another clock
  CHECK(reward.evaluate(graded(false), false).value == 0);
  // Cut off: nothing, whatever it holds, and not left out.
  CHECK_FALSE(reward.evaluate(graded(true), true).masked);
  CHECK(reward.evaluate(graded(true), true).value == 0);
  CHECK(reward.min_deviation() == 0.5);
}

TEST_CASE("two rules of one name are a programming fault") {
  CHECK_THROWS_AS(RewardRuleRegistration("binary", {}), Error);
}

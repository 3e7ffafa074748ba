// The rules against the formulas of their papers, computed by hand, and what holds for every rule.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "common/rng.h"
#include "reward/reward_rule.h"
#include "tests/reward/verdicts.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

Verdict fault(const std::string& fault_class) {
  Verdict v;
  v.outcome = Outcome::kCandidateFault;
  v.fault_class = fault_class;
  return v;
}

// For stored verdicts, which may hold figures that only some verifiers report.
RewardFunction rule(const std::string& yaml) { return rule_of(yaml, VerdictOrigin::kStored); }
std::string refusal(const std::string& yaml) { return refusal_of(yaml, VerdictOrigin::kStored); }

// One of each rule, with other than the default parameters, too.
const char* const kRules[] = {
    "rule: binary",
    "rule: binary\ncorrect: 2\nincorrect: -1",
    "rule: milestone",
    "rule: milestone\nincorrect: 0\nmargin: 0.3\nfaster_than_both: 4",
    "rule: speedup",
    "rule: speedup\ncorrect: 0\nmin_speedup: 0\nmax_speedup: 100",
    "rule: profile",
    "rule: profile\nmin_speedup: 1.05",
    "rule: speedup\nspeedup_weight: 0",
    "rule: profile\nspeedup_weight: 0",
    "rule: milestone\nfaster_than_eager: 1",
    "rule: progress",
    "rule: pass_rate",
    "rule: pass_rate\nspeedup_weight: 0.5",
    "rule: composite\nrules:\n  - rule: milestone\n  - {rule: profile, weight: 0.5}",
    "rule: composite\nrules:\n  - {rule: pass_rate, weight: 3}\n  - {rule: speedup, correct: 0}"};

double any_number(RandomStream& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kOdd[] = {0.0,    -1.0,  kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
                             5e-324, 1e308, 1e-308,    1.0};
  if (random.below(2)) return kOdd[random.below(std::size(kOdd))];
  return std::pow(10.0, 4 * random.uniform() - 2);
}

template <size_t N>
std::string any_of(RandomStream& random, const char* const (&choices)[N]) {
  return choices[random.below(N)];
}

// Verdicts as a broken or hostile verifier might send them.
Verdict any_verdict(RandomStream& random) {
  Verdict v;
  v.outcome = random.below(2) ? Outcome::kGraded : Outcome::kCandidateFault;
  v.compiled = random.below(2);
  v.correct = random.below(2);
  v.fault_class = any_of(random, {"", "wrong_value", "non_finite", "dead_kernel", "protocol", "?"});
  v.trials = static_cast<int>(random.below(7));
  v.trials_passed = static_cast<int>(random.below(9)) - 1;
  v.clock = any_of(random, {"model", "measured", ""});
  for (double* number : {&v.max_error_ratio, &v.candidate_ms, &v.eager_ms, &v.torch_compile_ms,
                         &v.roofline_fraction, &v.candidate_spread_ms, &v.eager_spread_ms})
    *number = any_number(random);
  return v;
}

}  // namespace

TEST_CASE("progress: the step that a program has come to") {
  const RewardFunction progress = rule("rule: progress");
  CHECK_FALSE(progress.uses_times());
  const auto failed_in = [&](const std::string& reached, const std::string& fault_class) {
    Verdict v = fault(fault_class);
    v.reached = reached;
    v.compiled = reached != "extract" && reached != "compile";
    return value_of(progress, v);
  };
  CHECK(failed_in("extract", "extract") == 0);
  CHECK(failed_in("compile", "compile") == 0.05);
  CHECK(failed_in("record", "record") == 0.1);
  CHECK(failed_in("run", "illegal_access") == 0.15);
  CHECK(value_of(progress, graded(false, 0, 5)) == 0.2);
  CHECK(value_of(progress, graded(false, 4, 5)) == 0.2);
  CHECK(value_of(progress, graded(true, 5, 5)) == 1);
  // A fault behind the comparison takes no step back.
  CHECK(failed_in("time", "illegal_access") == 0.2);
  Verdict without_registers = fault("launch");
  without_registers.reached = "run";
  without_registers.compiled = true;
  without_registers.trials_passed = without_registers.trials = 5;
  CHECK(value_of(progress, without_registers) == 0.2);
  // Python that raises before it compiles anything has come less far than a program that does not compile.
  Verdict raised = fault("record");
  raised.reached = "record";
  CHECK(value_of(progress, raised) == 0);
  // What only seems to answer comes to no step.
  for (const char* fault_class :
       {"framework_fallback", "dead_kernel", "protocol", "library_call", "host_read"})
    CHECK(failed_in("run", fault_class) == 0);
  Verdict unconfirmed = graded(false, 5, 5);
  unconfirmed.fault_class = "unconfirmed";
  CHECK(value_of(progress, unconfirmed) == 0);
  CHECK(progress.evaluate(graded(true, 5, 5), false).terms == std::vector<RewardTerm>{{"progress", 1}});
  CHECK_THAT(refusal("rule: progress\ncompiled: 0.01"),
             ContainsSubstring("must not be less than 'extracted'"));
  CHECK_THAT(refusal("rule: progress\ncorrect: 0.2"), ContainsSubstring("must be greater than 'ran'"));
}

TEST_CASE("milestone: the steps of CUDA Agent") {
  const RewardFunction milestone = rule("rule: milestone\nfaster_than_both: 3");
  CHECK(milestone.uses_times());
  for (const char* fault_class : {"compile", "illegal_access", "framework_fallback", "protocol"})
    CHECK(value_of(milestone, fault(fault_class)) == -1);
  CHECK(value_of(milestone, graded(false, 4, 5)) == -1);
  CHECK(value_of(milestone, graded(true, 5, 5)) == 1);
  CHECK(value_of(milestone, timed(1.04, 9)) == 1);
  CHECK(value_of(milestone, timed(1.05, 9)) == 1);  // by more than 5 %
  CHECK(value_of(milestone, timed(1.06, 0)) == 2);  // torch.compile not measured
  CHECK(value_of(milestone, timed(1.06, 1.05)) == 2);
  CHECK(value_of(milestone, timed(1.06, 1.06)) == 3);
  CHECK(value_of(milestone, timed(100, 100)) == 3);
  CHECK(value_of(milestone, timed(0.9, 2)) == 1);  // the last step includes the one before
  CHECK(milestone.evaluate(timed(2, 2), false).terms ==
        std::vector<RewardTerm>{{"correct", 1}, {"faster_than_eager", 1}, {"faster_than_both", 1}});
  // Unless the file says what it is worth, the last step is none, and one that is worth nothing is no term.
  const RewardFunction two_steps = rule("rule: milestone");
  CHECK(value_of(two_steps, timed(2, 2)) == 2);
  CHECK(two_steps.evaluate(timed(2, 2), false).terms ==
        std::vector<RewardTerm>{{"correct", 1}, {"faster_than_eager", 1}});
  CHECK_FALSE(rule("rule: milestone\nfaster_than_eager: 1").uses_times());
}

TEST_CASE("profile: correctness and capped speed-up") {
  const RewardFunction profile = rule("rule: profile");
  CHECK(value_of(profile, timed(2)) == 1 + 2);
  CHECK(value_of(profile, timed(7)) == 1 + 3);
  CHECK(value_of(profile, timed(0.4)) == Approx(1 + 0.4));
  CHECK(value_of(profile, graded(true, 5, 5)) == 1);  // not timed
  CHECK(value_of(profile, graded(false, 4, 5)) == 0);
  Verdict incorrect = timed(3);
  incorrect.correct = false;
  CHECK(value_of(profile, incorrect) == 0);
  CHECK(value_of(rule("rule: profile\nmin_speedup: 1.05"), timed(1.04)) == 1);
  CHECK(profile.evaluate(timed(2), false).terms == std::vector<RewardTerm>{{"correct", 1}, {"speedup", 2}});
}

TEST_CASE("pass_rate: MusaCoder's graded correctness below zero") {
  const RewardFunction pass_rate = rule("rule: pass_rate");
  CHECK_FALSE(pass_rate.uses_times());
  CHECK(value_of(pass_rate, fault("extract")) == -1);
  CHECK(value_of(pass_rate, fault("framework_fallback")) == -1);
  CHECK(value_of(pass_rate, graded(false, 0, 5)) == -1);
  CHECK(value_of(pass_rate, graded(false, 1, 5)) == Approx(-0.4));
  CHECK(value_of(pass_rate, graded(false, 4, 5)) == Approx(-0.1));
  CHECK(value_of(pass_rate, timed(5)) == 1);
  // Right in all trials and refused nevertheless: it differed between runs, or no kernel made the answer.
  Verdict unstable = graded(false, 5, 5);
  unstable.fault_class = "nondeterministic";
  CHECK(value_of(pass_rate, unstable) == -1);
  Verdict dead = fault("dead_kernel");
  dead.trials = 5;
  dead.trials_passed = 3;
  CHECK(value_of(pass_rate, dead) == -1);

  const RewardFunction fast = rule("rule: pass_rate\nspeedup_weight: 0.5\nmax_gain: 2");
  CHECK(fast.uses_times());
  CHECK(value_of(fast, timed(2)) == 1.5);
  CHECK(value_of(fast, timed(9)) == 2);
  CHECK(value_of(fast, timed(1.09)) == 1);  // within the noise
  CHECK(value_of(fast, timed(0.2)) == 1);
  CHECK(value_of(fast, graded(false, 1, 2)) == -0.25);
  CHECK(fast.evaluate(timed(2), false).terms ==
        std::vector<RewardTerm>{{"pass_rate", 1}, {"speedup_gain", 0.5}});
}

TEST_CASE("composite: the weighted sum, part by part") {
  const RewardFunction composite = rule(
      "rule: composite\nrules:\n"
      "  - {rule: pass_rate, weight: 2}\n"
      "  - {rule: speedup, weight: 0.25, correct: 0}\n"
      "  - {rule: binary, name: bonus, weight: 10}\n"
      "  - {rule: profile, weight: 0}\n");
  CHECK(composite.uses_times());
  CHECK(composite.evaluate(timed(2), false).terms == std::vector<RewardTerm>{{"pass_rate.pass_rate", 2},
                                                                             {"speedup.correct", 0},
                                                                             {"speedup.speedup", 0.5},
                                                                             {"bonus.correct", 10}});
  CHECK(value_of(composite, timed(2)) == 12.5);
  CHECK(value_of(composite, graded(false, 1, 2)) == 2 * -0.25);
  // A part without weight asks for no measurement.
  CHECK_FALSE(rule("rule: composite\nrules:\n  - rule: binary\n  - {rule: speedup, weight: 0}").uses_times());
}

TEST_CASE("a composite of one rule with weight 1 is that rule") {
  RandomStream random(mix_key({11}));
  for (const char* yaml : kRules) {
    const std::string text = yaml;
    if (text.starts_with("rule: composite")) continue;
    std::string item = "  - " + text;
    for (size_t at = item.find('\n'); at != item.npos; at = item.find('\n', at + 1))
      item.insert(at + 1, "    ");
    const RewardFunction alone = rule(text), wrapped = rule("rule: composite\nrules:\n" + item);
    CAPTURE(text);
    CHECK(wrapped.uses_times() == alone.uses_times());
    for (int i = 0; i < 300; ++i) {
      const Verdict verdict = any_verdict(random);
      CHECK(value_of(wrapped, verdict) == value_of(alone, verdict));
    }
  }
}

TEST_CASE("whatever the verdict, a reward is finite and its terms keep their names") {
  RandomStream random(mix_key({12}));
  for (const char* yaml : kRules) {
    CAPTURE(yaml);
    const RewardFunction function = rule(yaml);
    std::map<bool, std::vector<std::string>> names;
    for (int i = 0; i < 2000; ++i) {
      const Verdict verdict = any_verdict(random);
      const Reward reward = function.evaluate(verdict, false);
      REQUIRE(std::isfinite(reward.value));
      CHECK_FALSE(reward.masked);
      std::vector<std::string> now;
      for (const RewardTerm& term : reward.terms) now.push_back(term.name);
      const auto [known, added] = names.emplace(verdict.clock == kModelClock, now);
      CHECK(known->second == now);
    }
    // Times are marked if they are modelled, and nothing else is.
    if (!function.uses_times()) {
      CHECK(names[true] == names[false]);
      continue;
    }
    int marked = 0;
    for (size_t i = 0; i < names[true].size(); ++i)
      if (names[true][i] != names[false][i]) {
        ++marked;
        CHECK_THAT(names[true][i], ContainsSubstring("modelled_"));
      }
    CHECK(marked > 0);
  }
}

TEST_CASE("extreme parameters cannot make a reward overflow") {
  const Verdict best = timed(1e9, 1e9);
  const std::string largest =
      "rule: composite\nrules:\n"
      "  - {rule: speedup, weight: 1e6, correct: 1e6, speedup_weight: 1e6, max_speedup: 1e6}\n"
      "  - {rule: binary, weight: 1e6, correct: 1e6}\n";
  CHECK(std::isfinite(value_of(rule(largest), best)));
  CHECK_THAT(refusal("rule: binary\ncorrect: 1e7"), ContainsSubstring("reward.yaml:2: correct: expected"));
  CHECK_THAT(refusal("rule: binary\ntruncated: penalise\ntruncated_value: -1e7"),
             ContainsSubstring("reward.yaml:3: truncated_value: expected"));
}

TEST_CASE("better programs never earn less") {
  RandomStream random(mix_key({13}));
  for (const char* yaml : kRules) {
    CAPTURE(yaml);
    const RewardFunction function = rule(yaml);
    for (int i = 0; i < 500; ++i) {
      // Correct is at least as good as wrong, with the same figures otherwise, and as any other fault.
      Verdict correct = any_verdict(random);
      correct.outcome = Outcome::kGraded;
      correct.correct = true;
      correct.fault_class.clear();
      Verdict incorrect = correct;
      incorrect.correct = false;
      CHECK(value_of(function, correct) >= value_of(function, incorrect));
      CHECK(value_of(function, correct) >= value_of(function, fault("compile")));
      CHECK(value_of(function, incorrect) >= value_of(function, fault("compile")));
      // More trials right, more speed.
      const int trials = 2 + static_cast<int>(random.below(6));
      const int passed = static_cast<int>(random.below(static_cast<uint64_t>(trials - 1)));
      CHECK(value_of(function, graded(false, passed + 1, trials)) >=
            value_of(function, graded(false, passed, trials)));
      const double slow = 4 * random.uniform(), more = 2 * random.uniform();
      CHECK(value_of(function, timed(slow + more)) >= value_of(function, timed(slow)));
      CHECK(value_of(function, timed(slow + more, slow + more)) >=
            value_of(function, timed(slow + more, slow)));
    }
  }
}

TEST_CASE("parameters of the rules are checked with their place") {
  CHECK_THAT(refusal("rule: milestone\nincorrect: 1"),
             ContainsSubstring("reward.yaml:2: incorrect: must be less"));
  CHECK_THAT(refusal("rule: milestone\nfaster_than_eager: 0.5"),
             ContainsSubstring("reward.yaml:2: faster_than_eager: must not be less than 'correct'"));
  CHECK_THAT(refusal("rule: milestone\nfaster_than_both: 1.5"),
             ContainsSubstring("must not be less than 'faster_than_eager'"));
  CHECK_THAT(refusal("rule: milestone\nmargin: -0.1"), ContainsSubstring("reward.yaml:2: margin: expected"));
  CHECK_THAT(refusal("rule: profile\nmax_speedup: 0"),
             ContainsSubstring("reward.yaml:2: max_speedup: leaves nothing of the speed-up"));
  CHECK_THAT(refusal("rule: speedup\nmin_speedup: 0\nmax_speedup: 0"),
             ContainsSubstring("reward.yaml:3: max_speedup: leaves nothing of the speed-up"));
  CHECK_THAT(refusal("rule: pass_rate\nspeedup_weight: 1\nmax_gain: 0"),
             ContainsSubstring("reward.yaml:3: max_gain: leaves nothing of the speed-up"));
  CHECK_THAT(refusal("rule: pass_rate\nmax_gain: 3"),
             ContainsSubstring("reward.yaml:2: max_gain: has no effect without 'speedup_weight'"));
  CHECK_THAT(refusal("rule: pass_rate\nmin_speedup: 1.2"),
             ContainsSubstring("reward.yaml:2: min_speedup: has no effect without 'speedup_weight'"));
  CHECK_NOTHROW(rule("rule: pass_rate\nspeedup_weight: 0\nmin_speedup: 1.2\nmax_gain: 3"));  // switched off
  CHECK_THAT(refusal("rule: profile\nmax_speedpu: 1"),
             ContainsSubstring("reward.yaml:2: unknown key max_speedpu; did you mean max_speedup?"));
  CHECK_THAT(refusal("rule: profile\nmin_speedup: 4"),
             ContainsSubstring("must not be less than 'min_speedup'"));
  CHECK_THAT(refusal("rule: pass_rate\nfailed: 0"),
             ContainsSubstring("must not be greater than 'partial_base'"));
  CHECK_THAT(refusal("rule: pass_rate\npartial_weight: 2"), ContainsSubstring("must not exceed 'correct'"));
  CHECK_THAT(refusal("rule: milestones"), ContainsSubstring("did you mean milestone?"));
  CHECK_THAT(refusal("rule: passrate"), ContainsSubstring("did you mean pass_rate?"));
}

TEST_CASE("what a composite refuses names the part's place") {
  const auto parts = [](const std::string& items) { return refusal("rule: composite\nrules:\n" + items); };
  CHECK_THAT(refusal("rule: composite"), ContainsSubstring("rules: needs at least one rule"));
  CHECK_THAT(parts("  - {rule: binary, weight: 0}"),
             ContainsSubstring("reward.yaml:2: rules: needs at least one"));
  CHECK_THAT(parts("  - rule: binary\n  - rule: speed_up"),
             ContainsSubstring("reward.yaml:4: rules.1.rule: expected one of") &&
                 ContainsSubstring("did you mean speedup?"));
  CHECK_THAT(parts("  - rule: binary\n    corect: 1"),
             ContainsSubstring("reward.yaml:4: unknown key rules.0.corect; did you mean rules.0.correct?"));
  CHECK_THAT(parts("  - rule: binary\n    weight: -1"),
             ContainsSubstring("reward.yaml:4: rules.0.weight: expected"));
  CHECK_THAT(parts("  - rule: binary\n    truncated: mask"),
             ContainsSubstring("reward.yaml:4: unknown key rules.0.truncated"));
  CHECK_THAT(parts("  - rule: binary\n  - rule: binary"),
             ContainsSubstring("rules.1.name: two rules are called 'binary'"));
  CHECK_THAT(parts("  - rule: composite\n    rules: [{rule: binary}]"),
             ContainsSubstring("reward.yaml:3: rules.0.rule: a composite is no part of a composite"));
  CHECK_THAT(parts("  - weight: 2"), ContainsSubstring("rules.0.rule: is required and missing"));
  CHECK_THAT(refusal("rule: composite\nrules: binary"),
             ContainsSubstring("rules: expected a list of sections"));
}

TEST_CASE("a run refuses options whose figures its verifiers may lack, with place and reason") {
  const auto for_run = [](const std::string& yaml) -> std::string {
    try {
      RewardFunction::from_text(yaml, "reward.yaml");
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  };
  const std::string none = "has no effect yet: no verifier ";
  CHECK(for_run("rule: milestone\nfaster_than_both: 3") ==
        "reward.yaml:2: faster_than_both: " + none +
            "with a clock that measures is sure to report a time under torch.compile");
  CHECK_THAT(
      for_run("rule: composite\nrules:\n  - rule: speedup\n  - rule: milestone\n    faster_than_both: 3"),
      ContainsSubstring("reward.yaml:5: rules.1.faster_than_both: " + none));
  // Values that ask for nothing are taken: they are what a run prints.
  for (const char* yaml :
       {"rule: milestone\nfaster_than_both: 2",
        "rule: composite\nrules:\n  - rule: speedup\n  - {rule: milestone, faster_than_both: 3, weight: 0}"})
    CHECK(for_run(yaml) == "accepted");
  for (const std::string& name : reward_rule_names()) {
    if (name == "composite") continue;
    CHECK(for_run(RewardFunction::from_text("rule: " + name, "r").resolved_yaml()) == "accepted");
  }
}

#include "episode/rescore.h"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "common/rng.h"

using namespace bicrl;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

RewardFunction rule(const std::string& yaml) { return RewardFunction::from_text(yaml, "reward.yaml"); }

Episode response(int64_t step, const std::string& phase, int64_t group, bool correct, double speedup = 0) {
  Episode e;
  e.key = {.place = {phase, step}, .group = group};
  e.last().rollout.finish = FinishReason::kEndToken;
  Verdict& verdict = e.last().verdict.emplace();
  verdict.outcome = Outcome::kGraded;
  verdict.correct = correct;
  verdict.trials = 4;
  verdict.trials_passed = correct ? 4 : 0;
  if (speedup > 0) {
    verdict.candidate_ms = 1;
    verdict.eager_ms = speedup;
    verdict.clock = "measured";
  }
  return e;
}

void truncate(Episode& episode) { episode.last().rollout.finish = FinishReason::kTokenLimit; }

std::vector<Episode> random_run() {
  RandomStream random(mix_key({21}));
  std::vector<Episode> run;
  for (int64_t step = 0; step < 12; ++step)
    for (int64_t group = 0; group < 6; ++group)
      for (int i = 0; i < 5; ++i) {
        Episode r = response(step, step < 5 ? "infilling" : "end_to_end", group, random.below(2),
                             4 * random.uniform());
        if (random.below(8) == 0) truncate(r);
        if (random.below(10) == 0) r.last().verdict->outcome = Outcome::kInfrastructure;
        r.last().verdict->trials_passed = r.last().verdict->correct ? 4 : static_cast<int>(random.below(4));
        run.push_back(r);
      }
  return run;
}

TEST_CASE("without a rule the rewards that the run gave count, and its masks") {
  const RewardFunction binary = RewardFunction::from_text("rule: binary\n", "test");
  std::vector<Episode> run(4);
  for (size_t i = 0; i < run.size(); ++i) {
    run[i].key.place.step = 1;
    run[i].key.place.phase = "infilling";
    run[i].last().rollout.finish = FinishReason::kEndToken;
    run[i].last().verdict.emplace().outcome = Outcome::kGraded;
    run[i].reward.value = static_cast<double>(i);
  }
  run[3].reward.masked = true;
  const StepComparison step =
      rescore(run, {nullptr, {AdvantageKind::kMeanOnly}}, {&binary, {AdvantageKind::kMeanOnly}})[0];
  CHECK(step.before.rewarded == 3);
  CHECK(step.before.mean == 1.0);
  CHECK(step.after.rewarded == 4);
}

}  // namespace

TEST_CASE("a step under two rewards, computed by hand") {
  // Group 0: wrong, correct and slow, correct and fast. Group 1: both wrong.
  const std::vector<Episode> run = {response(3, "p", 0, false), response(3, "p", 1, false),
                                    response(3, "p", 0, true, 1), response(3, "p", 0, true, 3),
                                    response(3, "p", 1, false)};
  const RewardFunction binary = rule("rule: binary"), speedup = rule("rule: speedup");
  const auto steps =
      rescore(run, {&binary, {AdvantageKind::kMeanOnly}}, {&speedup, {AdvantageKind::kMeanOnly}});
  REQUIRE(steps.size() == 1);
  const StepComparison& step = steps[0];
  CHECK(step.step == 3);
  CHECK(step.phase == "p");
  CHECK(step.responses == 5);
  CHECK(step.before.rewarded == 5);
  CHECK(step.before.mean == Approx(0.4));
  CHECK(step.before.spread == Approx(std::sqrt(0.24)));
  CHECK(step.before.groups == 2);
  CHECK(step.before.zero_variance_groups == 1);
  // 0, 0.3 and 3.3: the slow one falls below its group's mean of 1.2.
  CHECK(step.after.mean == Approx(3.6 / 5));
  CHECK(step.after.spread == Approx(std::sqrt((0.09 + 10.89) / 5 - 0.72 * 0.72)));
  CHECK(step.changed_sign == Approx(1.0 / 5));
  CHECK(step.opposed == Approx(1.0 / 5));
}

TEST_CASE("a response that one reward leaves out has changed, and is opposed to nothing") {
  std::vector<Episode> run = {response(0, "p", 0, true), response(0, "p", 0, false),
                              response(0, "p", 0, true), response(0, "p", 0, false)};
  truncate(run[3]);
  const RewardFunction masking = rule("rule: binary"), scoring = rule("rule: binary\ntruncated: score");
  const auto step = rescore(run, {&masking}, {&scoring})[0];
  CHECK(step.before.rewarded == 3);
  CHECK(step.after.rewarded == 4);
  CHECK(step.changed_sign == 0.25);
  CHECK(step.opposed == 0);
  // Fewer than two are left of a group.
  for (int i = 0; i < 3; ++i) truncate(run[i]);
  const auto few = rescore(run, {&masking}, {&scoring})[0];
  CHECK(few.before.too_few_groups == 1);
  CHECK(few.before.rewarded == 0);
  CHECK(few.before.mean == 0);
  CHECK(few.after.too_few_groups == 0);
  CHECK(few.changed_sign == 1);
}

TEST_CASE("one reward against itself changes nothing") {
  const auto run = random_run();
  for (const char* yaml : {"rule: binary", "rule: speedup", "rule: pass_rate\ntruncated: score"})
    for (AdvantageKind kind :
         {AdvantageKind::kZScore, AdvantageKind::kMeanOnly, AdvantageKind::kLeaveOneOut}) {
      const RewardFunction reward = rule(yaml);
      for (const StepComparison& step :
           rescore(run, {&reward, {AdvantageKind::kZScore}}, {&reward, {kind}})) {
        CHECK(step.changed_sign == 0);  // the kind of advantage changes sizes, not signs
        CHECK(step.opposed == 0);
        CHECK(step.before.mean == step.after.mean);
      }
    }
  // Nor does another floor, which changes sizes only.
  const RewardFunction bare = rule("rule: speedup\nmin_deviation: 0"),
                       floored = rule("rule: speedup\nmin_deviation: 9");
  for (const StepComparison& step : rescore(run, {&bare}, {&floored})) {
    CHECK(step.changed_sign == 0);
    CHECK(step.before.spread == step.after.spread);
    CHECK(step.before.zero_variance_groups == step.after.zero_variance_groups);
  }
  // Nor does a reward that is twice as large and shifted.
  const RewardFunction plain = rule("rule: binary"), moved = rule("rule: binary\ncorrect: 5\nincorrect: 3");
  for (const StepComparison& step : rescore(run, {&plain}, {&moved})) {
    CHECK(step.changed_sign == 0);
    CHECK(step.after.mean == Approx(3 + 2 * step.before.mean));
    CHECK(step.after.spread == Approx(2 * step.before.spread));
  }
}

TEST_CASE("steps come in the order of the run, whatever the order within") {
  const RewardFunction reward = rule("rule: binary");
  const std::vector<Episode> run = {response(1, "b", 0, true), response(0, "a", 0, true),
                                    response(1, "b", 7, true), response(1, "a", 0, true),
                                    response(1, "b", 0, false)};
  const auto steps = rescore(run, {&reward}, {&reward});
  REQUIRE(steps.size() == 3);
  CHECK((steps[0].phase == "b" && steps[0].step == 1 && steps[0].responses == 3));
  CHECK(steps[0].before.groups == 2);
  CHECK(steps[0].before.too_few_groups == 1);
  CHECK((steps[1].phase == "a" && steps[1].step == 0));
  CHECK((steps[2].phase == "a" && steps[2].step == 1));
  CHECK(rescore({}, {&reward}, {&reward}).empty());
}

TEST_CASE("the table has a line for each step and one for each phase as a whole") {
  const auto run = random_run();
  const RewardFunction binary = rule("rule: binary"), graded = rule("rule: pass_rate");
  const auto steps = rescore(run, {&binary}, {&graded});
  REQUIRE(steps.size() == 12);
  const std::string table = rescore_table(steps);
  CHECK(std::ranges::count(table, '\n') == 1 + 12 + 2);
  size_t width = table.find('\n');
  for (size_t at = 0; at < table.size(); at += width + 1) CHECK(table[at + width] == '\n');  // aligned
  CHECK_THAT(table, ContainsSubstring("infilling         all") && ContainsSubstring("end_to_end        all"));

  // The whole phase agrees with the same responses taken as one step.
  auto merged = run;
  for (auto& r : merged) {
    r.key.group += 100 * r.key.place.step;
    r.key.place.step = 0;
  }
  const auto whole = rescore(merged, {&binary}, {&graded});
  REQUIRE(whole.size() == 2);
  std::string lines = rescore_table(whole);
  lines = lines.substr(lines.find('\n') + 1);
  for (size_t at = lines.find("      0 "); at != lines.npos; at = lines.find("      0 ", at + 1))
    lines.replace(at, 8, "    all ");
  CHECK(table.substr(table.size() - lines.size()) == lines);
  CHECK(std::ranges::count(rescore_table({steps[0]}), '\n') == 2);
}

TEST_CASE("what the stored verdicts do not hold is said") {
  std::vector<Episode> run = {response(0, "p", 0, true), response(0, "p", 0, true, 2),
                              response(0, "p", 0, false)};
  CHECK(rescoring_gaps(run, rule("rule: binary")).empty());
  const auto untimed = rescoring_gaps(run, rule("rule: speedup"));
  REQUIRE(untimed.size() == 1);
  CHECK_THAT(untimed[0],
             ContainsSubstring("1 of 2 correct responses were not timed") && ContainsSubstring("'speedup'"));
  // Options that need a figure which only some verifiers report are accepted here, and reported if no verdict
  // has it.
  const auto stored = [](const std::string& yaml) {
    return RewardFunction::from_text(yaml, "reward.yaml", VerdictOrigin::kStored);
  };
  const RewardFunction needing_figures[] = {
      stored("rule: milestone\nfaster_than_both: 3"),
      stored("rule: composite\nrules:\n  - rule: speedup\n  - {rule: milestone, faster_than_both: 3}")};
  const char* const places[] = {"reward.yaml:2: faster_than_both: has no effect",
                                "reward.yaml:4: rules.1.faster_than_both: has no effect"};
  std::vector<Episode> measured = run;
  measured[0].last().verdict = run[1].last().verdict;  // timed
  measured[1].last().verdict->torch_compile_ms = 2;
  for (size_t i = 0; i < std::size(needing_figures); ++i) {
    CHECK_THAT(rescoring_gaps(run, needing_figures[i]).back(), ContainsSubstring(places[i]));
    CHECK(rescoring_gaps(measured, needing_figures[i]).empty());
  }
  truncate(run[2]);
  run[2].last().verdict.reset();
  CHECK(rescoring_gaps(run, rule("rule: binary")).empty());
  const auto unverified = rescoring_gaps(run, rule("rule: binary\ntruncated: score"));
  REQUIRE(unverified.size() == 1);
  CHECK_THAT(unverified[0], ContainsSubstring("1 truncated"));
  run[0] = response(0, "p", 0, false);
  CHECK(rescoring_gaps(run, rule("rule: speedup")).empty());
}

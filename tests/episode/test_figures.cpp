// What a step says of its responses: sums, figures and the line, against what a person would write.
#include "episode/figures.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace bicrl;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

CountedResponse response() {
  return {.is_asked = true,
          .is_truncated = false,
          .is_compiled = true,
          .is_correct = true,
          .is_novel = false,
          .is_masked = false,
          .is_reduced = false,
          .is_undecided = false,
          .has_invalid_task = false,
          .is_lost = false,
          .is_straggler = false,
          .speedup = 2,
          .reward = 3};
}

// Three groups: three correct responses of which one is novel and one slower than eager, one that failed;
// then one truncated, which was judged at reduced sizes, one lost to a deadline, two of an invalid task and
// one that cannot be graded, in a group that was to repair a program; and one whose responses are not counted
// here.
StepFigures three_groups() {
  StepFigures figures;
  StepSums& sums = figures.sums;
  sums.count(response());
  CountedResponse novel = response();
  novel.is_novel = true;
  novel.speedup = 8;
  sums.count(novel);
  CountedResponse slow = response();
  slow.speedup = 0.5;
  slow.reward = 1;
  sums.count(slow);
  CountedResponse failed = response();
  failed.is_correct = failed.is_compiled = false;
  failed.speedup = failed.reward = 0;
  sums.count(failed);
  sums.count({.is_repair = false,
              .has_equal_rewards = false,
              .has_too_few = false,
              .is_kept = false,
              .distinct_correct_programs = 3});
  CountedResponse truncated = failed;
  truncated.is_truncated = truncated.is_reduced = true;
  sums.count(truncated);
  CountedResponse lost = failed;
  lost.is_lost = lost.is_straggler = lost.is_masked = true;
  lost.reward = 100;  // says nothing
  sums.count(lost);
  CountedResponse invalid = failed;
  invalid.has_invalid_task = invalid.is_masked = true;
  sums.count(invalid);
  sums.count(invalid);
  CountedResponse undecided = failed;
  undecided.is_undecided = undecided.is_masked = true;
  sums.count(undecided);
  sums.count({.is_repair = true,
              .has_equal_rewards = false,
              .has_too_few = true,
              .is_kept = false,
              .distinct_correct_programs = 0});
  sums.count({.is_repair = false,
              .has_equal_rewards = true,
              .has_too_few = false,
              .is_kept = true,
              .distinct_correct_programs = 0});
  sums.count({.confirmed = 1, .generated_tokens = 90, .forwards = 40});
  sums[Sum::kUniquePrograms] = 6;
  sums[Sum::kInvalidTasks] = 2;
  sums[Sum::kRefillRounds] = 2;
  sums[Sum::kSurplusTaken] = 5;
  sums[Sum::kSurplusKept] = 4;
  sums[Sum::kSurplusDropped] = 3;
  figures.reward_terms = {{"correct", 0.6}};
  figures.fault_classes = {{"compile", 1}};
  return figures;
}

}  // namespace

TEST_CASE("figures follow from what was counted") {
  const StepFigures f = three_groups();
  CHECK(f[Figure::kResponses] == 9);
  CHECK(f[Figure::kCompileRate] == 3.0 / 5);  // of those with a verdict on the program
  CHECK(f[Figure::kCorrectRate] == 3.0 / 5);
  CHECK(f[Figure::kNovelRate] == 1.0 / 5);
  CHECK(f[Figure::kSpeedup] == Approx(2.0));  // the third root of 2 * 8 / 2
  CHECK(f[Figure::kFast1] == 2.0 / 5);
  CHECK(f[Figure::kReducedRate] == 1.0 / 5);
  CHECK(f[Figure::kUndecidedRate] == 1.0 / 9);
  CHECK(f[Figure::kTruncatedRate] == 1.0 / 9);
  CHECK(f[Figure::kMaskedRate] == 4.0 / 9);
  CHECK(f[Figure::kInvalidTaskRate] == 2.0 / 9);
  CHECK(f[Figure::kLostRate] == 1.0 / 9);
  CHECK(f[Figure::kStragglers] == 1);
  CHECK(f[Figure::kRewardMean] == 7.0 / 5);
  // Rewards 3, 3, 1, 0, 0.
  CHECK(f[Figure::kRewardSpread] == Approx(std::sqrt(19.0 / 5 - 1.4 * 1.4)));
  CHECK(f[Figure::kUniqueCorrect] == 1);
  CHECK(f[Figure::kDropped] == 1);  // the other one without variance is kept
  CHECK(f[Figure::kKept] == 1);
  CHECK(f[Figure::kInformative] == 1);
  CHECK(f[Figure::kRepairs] == 1);
  CHECK(f[Figure::kTokensPerForward] == 2.25);
}

TEST_CASE("a figure over nothing is zero, and there is no mean of a step that asked nothing") {
  StepFigures asked;
  asked.sums[Sum::kGroups] = 1;
  nlohmann::json json = to_json(asked);
  REQUIRE(json.size() > 20);
  CHECK(json.contains("reward_mean"));
  json.erase("groups");
  for (const auto& [key, value] : json.items()) {
    INFO(key);
    CHECK((value.is_number() ? value == 0 : value.empty()));
  }
  const nlohmann::json none = to_json(StepFigures{});
  CHECK(none.at("groups") == 0);
  for (const char* key : {"reward_mean", "correct_rate", "geomean_speedup", "reward_spread"})
    CHECK_FALSE(none.contains(key));
  // Without verdicts none says that all programs are wrong.
  const nlohmann::json unverified = to_json(asked, /*verified=*/false);
  for (const char* key : {"reward_mean", "correct_rate", "geomean_speedup", "reward_spread"})
    CHECK_FALSE(unverified.contains(key));
  CHECK(unverified.contains("truncated_rate"));
  CHECK(figures_text(StepSums{}, /*verified=*/true, false).find("reward") == std::string::npos);
}

TEST_CASE("sums of two ranks add up row by row") {
  StepSums both = three_groups().sums;
  both += three_groups().sums;
  const StepSums one = three_groups().sums;
  for (size_t i = 0; i < kSums; ++i) {
    CHECK(one.values[i] != 0);  // each row is counted somewhere
    CHECK(both.values[i] == 2 * one.values[i]);
  }
}

TEST_CASE("step line shows what a step has, in the table's order") {
  StepFigures f = three_groups();
  CHECK(figures_text(f.sums, true, true) ==
        " | reward 1.400 +-1.356 | compile 60 % | correct 60 % | modelled speed-up 2.00x, fast_1 40 % | "
        "unique 6/9, "
        "correct 1.0 a group | reduced sizes 20 % | undecided 11 % | novel 20 % | truncated 11 % | invalid "
        "task 22 % | no verdict 11 % (given up 1) | "
        "confirmed 1 | repairs 1/3 | dropped 1/3, kept 1 | informative 1/3 in 2 rounds | surplus taken "
        "5 | "
        "surplus kept 4 | surplus dropped 3");
  CHECK_THAT(figures_text(f.sums, true, false), ContainsSubstring(" | speed-up 2.00x"));
  StepSums plain;
  plain.count({.confirmed = 0, .generated_tokens = 90, .forwards = 40});
  plain[Sum::kResponses] = 4;
  plain[Sum::kUniquePrograms] = 3;
  CHECK(figures_text(plain, false, false) == " | unique 3/4");
}

TEST_CASE("counts are whole numbers in JSON, and maps stand beside them") {
  const nlohmann::json json = to_json(three_groups());
  CHECK(json.at("responses").is_number_integer());
  CHECK(json.at("generated_tokens") == 90);
  CHECK(json.at("tokens_per_forward") == 2.25);
  CHECK(json.at("reward_terms").at("correct") == 0.6);
  CHECK(json.at("fault_classes").at("compile") == 1);
}

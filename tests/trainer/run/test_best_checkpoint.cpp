// Which checkpoint is the best, by which figure.
#include "trainer/evaluation/best_checkpoint.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "common/error.h"

using namespace bicrl;
using Catch::Approx;

namespace {

EvaluationResult result(const std::string& phase, double reward, double correct,
                        const std::string& basis = "r") {
  EvaluationResult r;
  r.phase = phase;
  r.tasks = r.rewarded = 100;
  r.reward_mean = reward;
  r.reward_spread = 0.5;
  r.correct_rate = correct;
  r.reward_basis = basis;
  return r;
}

std::string best(const std::vector<EvaluationResult>& results, BestMetric metric) {
  const EvaluationResult* found = best_of_all(results, metric);
  return found ? found->phase : "none";
}

BestMetric metric_from(const std::string& yaml, bool rewards = true) {
  const auto document = ConfigDocument::from_text(yaml, "run.yaml");
  const BestMetric metric = best_metric_from(document.root().section("keep_best"), rewards, document.root());
  document.finish();
  return metric;
}

}  // namespace

TEST_CASE("best checkpoint is the one with the highest reward, not the most cautious policy") {
  const std::vector<EvaluationResult> run = {result("warm_up", 1.2, 0.95), result("infilling", 1.3, 0.93),
                                             result("end_to_end", 2.4, 0.90),
                                             result("end_to_end_2", 2.4, 0.91)};
  CHECK(best(run, BestMetric::kReward) == "end_to_end");  // of equal ones the first
  CHECK(best(run, BestMetric::kCorrect) == "warm_up");
  CHECK(best(run, BestMetric::kNone) == "none");
  CHECK(best({}, BestMetric::kReward) == "none");
  CHECK(best({result("start", 9, 1), result("warm_up", 1, 0.5)}, BestMetric::kReward) == "warm_up");
}

TEST_CASE("after a swap of rewards the comparison starts anew") {
  std::vector<EvaluationResult> run = {result("warm_up", 5.0, 0.2), result("end_to_end-000010", 6.0, 0.3)};
  run.push_back(result("end_to_end-000020", 0.4, 0.5, "another"));
  CHECK(best(run, BestMetric::kReward) == "end_to_end-000020");
  run.push_back(result("end_to_end", 0.3, 0.6, "another"));
  CHECK(best(run, BestMetric::kReward) == "end_to_end-000020");
  CHECK(best(run, BestMetric::kCorrect) == "end_to_end");
}

TEST_CASE("figures of a checkpoint carry their uncertainty") {
  EvaluationResult r = result("end_to_end", 2.0, 0.8);
  CHECK(metric_of(r, BestMetric::kReward).half_width == Approx(1.96 * 0.5 / 10));
  CHECK(metric_of(r, BestMetric::kCorrect).half_width == Approx(1.96 * 0.4 / 10));
  CHECK(metric_text(r, BestMetric::kReward) == "reward 2.000 +-0.098 on 100 held-out tasks");
  CHECK(metric_text(r, BestMetric::kCorrect) == "correct 80.0 +-7.8 % of 100 held-out tasks");
  r.timed = 25;
  r.geomean_speedup = 1.5;
  r.log_speedup_spread = 0.1;
  CHECK(metric_text(r, BestMetric::kSpeedup) == "speed-up 1.50x +-4 % of 25 correct held-out programs");
}

TEST_CASE("metric of the best checkpoint is the reward unless nothing is rewarded") {
  CHECK(metric_from("{}") == BestMetric::kReward);
  CHECK(metric_from("{}", false) == BestMetric::kCorrect);
  CHECK(metric_from("keep_best: {metric: fast_1}") == BestMetric::kFast1);
  CHECK_THROWS_AS(metric_from("keep_best: {metric: reward}", false), InputError);
  CHECK_THROWS_AS(metric_from("keep_best: true"), InputError);
}

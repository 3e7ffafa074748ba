#include "trainer/evaluation/best_checkpoint.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr double kNormal95 = 1.96;

constexpr std::array<std::pair<BestMetric, const char*>, 5> kNames = {{{BestMetric::kReward, "reward"},
                                                                       {BestMetric::kCorrect, "correct"},
                                                                       {BestMetric::kFast1, "fast_1"},
                                                                       {BestMetric::kSpeedup, "speedup"},
                                                                       {BestMetric::kNone, "none"}}};

double half_width(double spread, int64_t count) {
  return count > 0 ? kNormal95 * spread / std::sqrt(static_cast<double>(count)) : 0;
}

MetricValue share(double rate, int64_t count) {
  return {rate, half_width(std::sqrt(rate * (1 - rate)), count), count};
}

}  // namespace

std::string to_string(BestMetric metric) {
  for (const auto& [value, name] : kNames)
    if (value == metric) return name;
  BICRL_CHECK(false);
  return {};
}

BestMetric best_metric_from(const ConfigSection& section, bool rewards, const ConfigSection& root) {
  std::vector<std::string> names;
  for (const auto& [value, name] : kNames) names.emplace_back(name);
  const std::string usual = to_string(rewards ? BestMetric::kReward : BestMetric::kCorrect);
  if (!rewards && section.choice("metric", usual, names) == to_string(BestMetric::kReward))
    section.refuse_without_effect("metric", "without a stage, as nothing is rewarded", root);
  const std::string chosen = section.choice("metric", usual, names);
  for (const auto& [value, name] : kNames)
    if (chosen == name) return value;
  BICRL_CHECK(false);
  return {};
}

MetricValue metric_of(const EvaluationResult& r, BestMetric metric) {
  const int64_t verified = r.tasks - r.unverified - r.undecided;
  switch (metric) {
    case BestMetric::kReward:
      return {r.reward_mean, half_width(r.reward_spread, r.rewarded), r.rewarded};
    case BestMetric::kCorrect:
      return share(r.correct_rate, verified);
    case BestMetric::kFast1:
      return share(r.fast_1, verified);
    case BestMetric::kSpeedup:
      return {r.geomean_speedup, half_width(r.log_speedup_spread, r.timed), r.timed};
    case BestMetric::kNone:
      break;
  }
  return {};
}

const EvaluationResult* best_of_all(const std::vector<EvaluationResult>& results, BestMetric metric) {
  const EvaluationResult* best = nullptr;
  if (metric == BestMetric::kNone) return best;
  for (const EvaluationResult& result : results) {
    if (result.phase == kStartEvaluation) continue;  // has no checkpoint
    if (metric == BestMetric::kReward && result.reward_basis != results.back().reward_basis) continue;
    if (!best || metric_of(result, metric).value > metric_of(*best, metric).value) best = &result;
  }
  return best;
}

std::string metric_text(const EvaluationResult& result, BestMetric metric) {
  const MetricValue v = metric_of(result, metric);
  char text[128];
  const auto tasks = static_cast<long long>(v.tasks);
  switch (metric) {
    case BestMetric::kReward:
      snprintf(text, sizeof text, "reward %.3f +-%.3f on %lld held-out tasks", v.value, v.half_width, tasks);
      break;
    case BestMetric::kSpeedup:
      snprintf(text, sizeof text, "speed-up %.2fx +-%.0f %% of %lld correct held-out programs", v.value,
               100 * v.half_width, tasks);
      break;
    default:
      snprintf(text, sizeof text, "%s %.1f +-%.1f %% of %lld held-out tasks", to_string(metric).c_str(),
               100 * v.value, 100 * v.half_width, tasks);
  }
  return text;
}

}  // namespace bicrl

#include "reward/advantage.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/config/spelling.h"
#include "common/error.h"
#include "common/rng.h"
#include "reward/max_at_k.h"

namespace bicrl {
namespace {

// Rewards that differ only by rounding are equal; a z-score would blow the difference up to +-1.
constexpr double kEqualWithin = 1e-9;

constexpr AdvantageKind kKinds[] = {AdvantageKind::kZScore, AdvantageKind::kMeanOnly,
                                    AdvantageKind::kLeaveOneOut, AdvantageKind::kBest,
                                    AdvantageKind::kMaxAtK};

struct Statistics {
  double mean = 0;
  double deviation = 0;
  double highest = 0;
  int counted = 0;
  bool all_equal = true;
};

Statistics measure(const std::vector<Reward>& rewards) {
  Statistics s;
  double lowest = 0;
  for (const Reward& reward : rewards) {
    if (reward.masked) continue;
    BICRL_CHECK(std::isfinite(reward.value), "a reward is ", reward.value);
    lowest = s.counted ? std::min(lowest, reward.value) : reward.value;
    s.highest = s.counted ? std::max(s.highest, reward.value) : reward.value;
    ++s.counted;
    s.mean += (reward.value - s.mean) / s.counted;  // no sum that could overflow
  }
  const double range = s.highest - lowest;
  BICRL_CHECK(std::isfinite(range), "rewards from ", lowest, " to ", s.highest, " are too far apart");
  s.all_equal = range <= kEqualWithin * std::max(std::abs(lowest), std::abs(s.highest));
  if (s.all_equal) return s;
  // Squares of shares of the range neither overflow nor vanish.
  double squares = 0;
  for (const Reward& reward : rewards)
    if (!reward.masked) squares += std::pow((reward.value - s.mean) / range, 2);
  s.deviation = range * std::sqrt(squares / s.counted);
  return s;
}

double advantage_of(AdvantageKind kind, double value, const Statistics& s, double min_deviation) {
  const double above_mean = value - s.mean;
  switch (kind) {
    case AdvantageKind::kZScore:
      return above_mean / std::max(s.deviation, min_deviation);
    case AdvantageKind::kMeanOnly:
      return above_mean;
    // r - (sum - r) / (n - 1), without the cancellation.
    case AdvantageKind::kLeaveOneOut:
      return above_mean * s.counted / (s.counted - 1);
    case AdvantageKind::kBest:
      return s.highest - value <= kEqualWithin * std::abs(s.highest) ? 1 : 0;
    case AdvantageKind::kMaxAtK:
      break;  // of a group as a whole
  }
  return 0;
}

std::vector<double> best_of_k(const std::vector<Reward>& rewards, int64_t k) {
  std::vector<double> counted;
  for (const Reward& reward : rewards)
    if (!reward.masked) counted.push_back(reward.value);
  std::vector<double> advantages(rewards.size(), 0);
  const std::vector<double> of_counted = max_at_k_advantages(counted, k);
  for (size_t i = 0, next = 0; i < rewards.size(); ++i)
    if (!rewards[i].masked) advantages[i] = of_counted[next++];
  return advantages;
}

}  // namespace

AdvantageKind parse_advantage_kind(const std::string& text) {
  for (AdvantageKind kind : kKinds)
    if (text == to_string(kind)) return kind;
  std::string expected;
  for (const std::string& name : advantage_names()) expected += (expected.empty() ? "" : ", ") + name;
  const auto nearest = nearest_spelling(text, advantage_names());
  throw InputError(concat("unknown advantage '", text, "': expected one of ", expected,
                          nearest ? "; did you mean " + *nearest + "?" : ""));
}

std::vector<std::string> advantage_names() {
  std::vector<std::string> names;
  for (AdvantageKind kind : kKinds) names.push_back(to_string(kind));
  return names;
}

std::string to_string(AdvantageKind kind) {
  switch (kind) {
    case AdvantageKind::kZScore:
      return "zscore";
    case AdvantageKind::kMeanOnly:
      return "mean_only";
    case AdvantageKind::kLeaveOneOut:
      return "leave_one_out";
    case AdvantageKind::kBest:
      return "best";
    case AdvantageKind::kMaxAtK:
      return "max_at_k";
  }
  return "";
}

std::string to_string(GroupState state) {
  switch (state) {
    case GroupState::kUsed:
      return "used";
    case GroupState::kZeroVariance:
      return "zero_variance";
    case GroupState::kTooFew:
      return "too_few";
  }
  return "";
}

AdvantageSettings AdvantageSettings::from_config(const ConfigSection& section, int64_t samples_per_task) {
  AdvantageSettings s;
  s.kind = parse_advantage_kind(section.choice("advantage", to_string(s.kind), advantage_names()));
  if (s.kind == AdvantageKind::kMaxAtK)
    s.k = section.integer("advantage_k", std::max<int64_t>(1, samples_per_task / 2), 1, samples_per_task - 1);
  else
    section.refuse_without_effect("advantage_k", concat("with 'advantage: ", to_string(s.kind), "'"));
  s.shuffled = section.boolean("shuffled_advantages", s.shuffled);
  return s;
}

nlohmann::json to_json(const AdvantageSettings& settings) {
  nlohmann::json line = {{"advantage", to_string(settings.kind)}};
  if (settings.kind == AdvantageKind::kMaxAtK) line["advantage_k"] = settings.k;
  return line;
}

AdvantageSettings advantage_from_json(const nlohmann::json& line) {
  AdvantageSettings settings{.kind = parse_advantage_kind(line.at("advantage").get<std::string>()),
                             .k = line.value("advantage_k", int64_t{1})};
  if (settings.k < 1) throw InputError(concat("advantage_k is ", settings.k));
  return settings;
}

GroupAdvantage group_advantage(const AdvantageSettings& settings, const std::vector<Reward>& rewards,
                               double min_deviation) {
  BICRL_CHECK(std::isfinite(min_deviation) && min_deviation >= 0, "min_deviation is ", min_deviation);
  const Statistics s = measure(rewards);
  GroupAdvantage group;
  group.advantages.assign(rewards.size(), 0);
  group.weights.assign(rewards.size(), 0);
  group.mean = s.mean;
  group.deviation = s.deviation;
  group.counted = s.counted;
  group.state = s.counted < 2 ? GroupState::kTooFew
                : s.all_equal ? GroupState::kZeroVariance
                              : GroupState::kUsed;
  group.is_kept = settings.keeps_equal && group.state == GroupState::kZeroVariance;
  if (group.dropped()) return group;
  for (size_t i = 0; i < rewards.size(); ++i) group.weights[i] = rewards[i].masked ? 0 : 1;
  if (group.is_kept) return group;
  const AdvantageKind kind = settings.kind;
  if (kind == AdvantageKind::kMaxAtK)
    group.advantages = best_of_k(rewards, settings.k);
  else
    for (size_t i = 0; i < rewards.size(); ++i)
      if (!rewards[i].masked) group.advantages[i] = advantage_of(kind, rewards[i].value, s, min_deviation);
  return group;
}

void shuffle_advantages(GroupAdvantage& group, uint64_t key) {
  std::vector<double> counted;
  for (size_t i = 0; i < group.weights.size(); ++i)
    if (group.weights[i] > 0) counted.push_back(group.advantages[i]);
  RandomStream(key).shuffle(counted);
  for (size_t i = 0, next = 0; i < group.weights.size(); ++i)
    if (group.weights[i] > 0) group.advantages[i] = counted[next++];
}

}  // namespace bicrl

#include "sandbox/gpu/timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"

namespace bicrl::timing {
namespace {

constexpr double kOutside = 0.025;  // on each side of an interval

// How many of n sorted values may be cut off at each end, so that the median of what they are drawn from lies
// within the rest with 1 - 2 kOutside; 0 if not even the whole range holds it so.
size_t cut_off(size_t n) {
  // P(at most k of n coins show heads), summed from below.
  double probability = std::pow(0.5, static_cast<double>(n)), below = probability;
  size_t k = 0;
  while (k + 1 < n / 2) {
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    below += probability;
    if (below > kOutside) break;
    ++k;
  }
  return k;
}

std::vector<double> side(std::span<const Pair> pairs, double Pair::*member) {
  std::vector<double> values;
  for (const Pair& pair : pairs) values.push_back(pair.*member);
  return values;
}

double step_of(std::span<const Pair> pairs, double Pair::*member) {
  const size_t half = pairs.size() / 2;
  const double first = median(side(pairs.first(half), member));
  const double second = median(side(pairs.last(half), member));
  return first > 0 ? std::abs(second / first - 1) : 0;
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double interquartile_range(const std::vector<double>& values) {
  return quantile(values, 0.75) - quantile(values, 0.25);
}

double Ratio::uncertainty() const {
  return value > 0 ? (high - low) / 2 / value : std::numeric_limits<double>::infinity();
}

Ratio estimate_ratio(std::span<const Pair> pairs) {
  std::vector<double> ratios;
  for (const Pair& pair : pairs)
    if (pair.candidate_ms > 0 && pair.baseline_ms > 0) ratios.push_back(pair.baseline_ms / pair.candidate_ms);
  if (ratios.empty()) return {};
  std::ranges::sort(ratios);
  const size_t cut = cut_off(ratios.size());
  return {median(ratios), ratios[cut], ratios[ratios.size() - 1 - cut], ratios.size()};
}

Order order_of(const Ratio& ratio) {
  if (ratio.pairs == 0 || (ratio.low <= 1 && ratio.high >= 1)) return Order::kUnknown;
  return ratio.low > 1 ? Order::kFaster : Order::kSlower;
}

Judgement judge_pairs(std::span<const Pair> pairs, const SteadinessLimits& limits, bool over) {
  const bool enough_pairs = pairs.size() >= limits.least_pairs;
  if (!enough_pairs && !over) return {};
  const Ratio ratio = estimate_ratio(pairs);
  const bool last = over || pairs.size() >= limits.most_pairs;
  if (!last && ratio.uncertainty() > limits.enough) return {};
  if (pairs.size() < std::min(limits.few_pairs, limits.least_pairs))
    return {Advice::kHopeless, concat("only ", pairs.size(), " pairs within the window's time")};
  // A ratio may have survived it, a time has not.
  if (std::max(step_of(pairs, &Pair::candidate_ms), step_of(pairs, &Pair::baseline_ms)) > limits.step)
    return {Advice::kRepeat, "the device changed its speed within the window"};
  if (ratio.uncertainty() > limits.most)
    return {Advice::kRepeatOnce,
            concat("the ratio is only known within ", std::lround(ratio.uncertainty() * 1000) / 10.0, " %")};
  return {Advice::kEnough, ""};
}

}  // namespace bicrl::timing

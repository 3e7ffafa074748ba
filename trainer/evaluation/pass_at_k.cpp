#include "trainer/evaluation/pass_at_k.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl {

double pass_at_k(int64_t n, int64_t c, int64_t k) {
  BICRL_CHECK(k >= 1 && k <= n && c >= 0 && c <= n, "pass@k of n ", n, ", c ", c, ", k ", k);
  if (n - c < k) return 1.0;
  // In logarithms: a product of factors just below 1 would lose the small differences from 1.
  double log_none = 0;
  for (int64_t i = n - c + 1; i <= n; ++i)
    log_none += std::log1p(-static_cast<double>(k) / static_cast<double>(i));
  return -std::expm1(log_none);
}

double normal_quantile(double p) {
  BICRL_CHECK(p > 0 && p < 1, "quantile at ", p);
  // Symmetric, and exact in the middle; the lower tail keeps its precision through erfc.
  if (p > 0.5) return -normal_quantile(1 - p);
  const auto below = [](double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); };
  double low = -40;
  double high = 0;
  // Bisection until no double lies between: a few dozen steps, no constants to get wrong.
  for (double middle = low / 2; middle > low && middle < high; middle = (low + high) / 2)
    (below(middle) < p ? low : high) = middle;
  return high;
}

Interval wilson_interval(double successes, int64_t trials, double confidence) {
  BICRL_CHECK(trials >= 1 && successes >= 0 && successes <= static_cast<double>(trials), successes, " of ",
              trials);
  const double z = normal_quantile(0.5 + confidence / 2);
  const auto n = static_cast<double>(trials);
  const double share = successes / n;
  const double centre = share + z * z / (2 * n);
  const double reach = z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  const double scale = 1 + z * z / n;
  // At the ends the formula gives 0 and 1 up to rounding.
  return {successes == 0 ? 0.0 : (centre - reach) / scale, successes == n ? 1.0 : (centre + reach) / scale};
}

double mean_of(const std::vector<double>& values) {
  BICRL_CHECK(!values.empty(), "mean of nothing");
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Interval bootstrap_interval(const std::vector<double>& values, double confidence, int64_t resamples,
                            uint64_t seed) {
  BICRL_CHECK(!values.empty() && resamples >= 1, values.size(), " values, ", resamples, " resamples");
  BICRL_CHECK(confidence > 0 && confidence < 1, "confidence ", confidence);
  RandomStream draws(seed);
  std::vector<double> means(static_cast<size_t>(resamples));
  for (double& mean : means) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += values[draws.below(values.size())];
    mean = sum / static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  const auto percentile = [&](double share) {
    const double place = share * static_cast<double>(means.size() - 1);
    const auto at = static_cast<size_t>(place);
    const double next = means[std::min(at + 1, means.size() - 1)];
    return means[at] + (place - static_cast<double>(at)) * (next - means[at]);
  };
  return {percentile((1 - confidence) / 2), percentile((1 + confidence) / 2)};
}

}  // namespace bicrl

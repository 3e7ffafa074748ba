// Statistics of an evaluation: pass@k by the unbiased estimator of Chen et al. (2021), and confidence
// intervals. Pure functions.
#pragma once
#include <cstdint>
#include <vector>

namespace bicrl {

struct Interval {
  double low = 0;
  double high = 0;
};

// The chance that at least one of k samples is correct, estimated from n >= k samples of which c are:
// 1 - C(n-c, k) / C(n, k), as a product that neither overflows nor cancels.
double pass_at_k(int64_t n, int64_t c, int64_t k);

// z such that a standard normal variable is below it with probability p in (0, 1).
double normal_quantile(double p);

// Wilson's score interval of a share: of `successes` among `trials` >= 1 that are independent of each other.
// With a fraction of successes it is wider than need be: nothing in [0, 1] of that mean varies more than
// trials do.
Interval wilson_interval(double successes, int64_t trials, double confidence);

// Percentile bootstrap of a mean: draws `resamples` sets as large as `values` with replacement, a pure
// function of its arguments. Percentiles interpolate between neighbours. `values` must not be empty.
Interval bootstrap_interval(const std::vector<double>& values, double confidence, int64_t resamples,
                            uint64_t seed);

// Summed in order.
double mean_of(const std::vector<double>& values);

}  // namespace bicrl

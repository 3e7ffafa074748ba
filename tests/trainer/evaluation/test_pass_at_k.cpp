#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "common/rng.h"
#include "tests/support/support.h"
#include "trainer/evaluation/pass_at_k.h"

namespace bicrl {
namespace {

using Catch::Approx;

// The share of all sets of k among n samples (the first c correct) that hold a correct one.
double by_enumeration(int n, int c, int k) {
  int sets = 0;
  int passing = 0;
  const uint32_t correct = (1u << c) - 1;
  for (uint32_t set = 0; set < 1u << n; ++set) {
    if (std::popcount(set) != k) continue;
    ++sets;
    passing += (set & correct) != 0;
  }
  return static_cast<double>(passing) / sets;
}

TEST_CASE("pass@k is the share of all sets of k samples that pass") {
  for (int n = 1; n <= 12; ++n)
    for (int c = 0; c <= n; ++c)
      for (int k = 1; k <= n; ++k) {
        INFO("n " << n << ", c " << c << ", k " << k);
        CHECK(pass_at_k(n, c, k) == Approx(by_enumeration(n, c, k)).epsilon(1e-13).margin(0));
      }
  CHECK(pass_at_k(10, 0, 10) == 0.0);
  CHECK(pass_at_k(10, 1, 10) == 1.0);
  CHECK_THROWS_AS(pass_at_k(4, 1, 5), Error);
  CHECK_THROWS_AS(pass_at_k(4, 5, 1), Error);
  CHECK_THROWS_AS(pass_at_k(4, 1, 0), Error);
}

// Expected percentile of the bootstrap mean by going through all n^n resamples.
double exact_percentile(const std::vector<double>& values, double share) {
  const size_t n = values.size();
  const auto total = static_cast<size_t>(std::llround(std::pow(n, n)));
  std::vector<double> means(total);
  for (size_t number = 0; number < total; ++number) {
    double sum = 0;
    for (size_t i = 0, rest = number; i < n; ++i, rest /= n) sum += values[rest % n];
    means[number] = sum / static_cast<double>(n);
  }
  std::sort(means.begin(), means.end());
  return means[static_cast<size_t>(share * static_cast<double>(total - 1))];
}

TEST_CASE("The bootstrap approaches the distribution over all resamples") {
  // Irregular values, so that hardly two means are equal.
  const std::vector<double> values = {0.11, 0.93, 0.27, 0.05, 0.58, 0.71};
  const Interval interval = bootstrap_interval(values, 0.9, 200'000, /*seed=*/3);
  CHECK(interval.low == Approx(exact_percentile(values, 0.05)).margin(0.004));
  CHECK(interval.high == Approx(exact_percentile(values, 0.95)).margin(0.004));
}

TEST_CASE("The bootstrap is a function of its arguments, and of no more") {
  const std::vector<double> values = {0, 1, 1, 0, 0.5, 0.25};
  const Interval first = bootstrap_interval(values, 0.95, 500, 1);
  const Interval again = bootstrap_interval(values, 0.95, 500, 1);
  CHECK(first.low == again.low);
  CHECK(first.high == again.high);
  CHECK(first.low < mean_of(values));
  CHECK(first.high > mean_of(values));
  const Interval equal = bootstrap_interval({0.5, 0.5, 0.5}, 0.95, 100, 1);
  CHECK(equal.low == 0.5);
  CHECK(equal.high == 0.5);
  const Interval single = bootstrap_interval({1.0}, 0.95, 1, 1);
  CHECK(single.low == 1.0);
  CHECK(single.high == 1.0);
  CHECK_THROWS_AS(bootstrap_interval({}, 0.95, 100, 1), Error);
}

TEST_CASE("Wilson intervals hold the share they were drawn from as often as promised") {
  // Exact: summed over the binomial distribution. The coverage of one share swings about the promise, so an
  // average over shares is held against it.
  constexpr int kTrials = 60;
  double coverage = 0;
  int shares = 0;
  for (double share = 0.1; share < 0.9; share += 0.005, ++shares) {
    double probability = std::pow(1 - share, kTrials);
    for (int successes = 0; successes <= kTrials; ++successes) {
      const Interval interval = wilson_interval(successes, kTrials, 0.95);
      if (interval.low <= share && share <= interval.high) coverage += probability;
      probability *= share / (1 - share) * (kTrials - successes) / (successes + 1);
    }
  }
  CHECK(coverage / shares == Approx(0.95).margin(0.005));
  CHECK(wilson_interval(0, 10, 0.95).low == 0.0);
  CHECK(wilson_interval(0, 10, 0.95).high > 0.2);
  CHECK(wilson_interval(10, 10, 0.95).high == 1.0);
}

TEST_CASE("Python agrees with the statistics") {
  nlohmann::json figures;
  for (const auto& [n, c, k] : std::vector<std::array<int64_t, 3>>{{1, 0, 1},
                                                                   {1, 1, 1},
                                                                   {16, 3, 4},
                                                                   {200, 1, 100},
                                                                   {200, 13, 10},
                                                                   {1000, 1, 1},
                                                                   {100'000, 7, 64},
                                                                   {10'000, 5'000, 5},
                                                                   {5'000, 1, 4'999}})
    figures["pass_at_k"].push_back({n, c, k, pass_at_k(n, c, k)});
  for (const double p : {1e-12, 1e-4, 0.025, 0.3, 0.5, 0.7, 0.95, 0.975, 0.9999})
    figures["quantiles"].push_back({p, normal_quantile(p)});
  for (const auto& [successes, trials] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 1}, {3, 10}, {128, 256}, {255, 256}, {0, 256}})
    for (const double confidence : {0.5, 0.95, 0.999}) {
      const Interval interval = wilson_interval(successes, trials, confidence);
      figures["wilson"].push_back({successes, trials, confidence, interval.low, interval.high});
    }
  RandomStream draws(17);
  for (const size_t count : {20, 100, 256}) {
    std::vector<double> values(count);
    for (double& value : values) value = static_cast<double>(draws.below(9)) / 8;
    const Interval interval = bootstrap_interval(values, 0.95, 2000, 1);
    figures["bootstrap"].push_back({values, 0.95, interval.low, interval.high});
  }
  const testing::TemporaryFolder folder;
  write_file_atomically(folder.path() / "figures.json", figures.dump());
  testing::run_python(testing::source_path("tests/trainer/evaluation/pass_at_k_oracle.py"),
                      {(folder.path() / "figures.json").string()});
}

}  // namespace
}  // namespace bicrl

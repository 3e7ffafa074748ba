// Statistics of interleaved runs, on series that a seed decides.
#include "sandbox/gpu/timing/statistics.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <functional>

#include "common/rng.h"
#include "tests/support/spread.h"

namespace bicrl::timing {
namespace {

using Catch::Matchers::WithinRel;
using testing::coefficient_of_variation;

// A device: both sides of a pair see the same speed, apart by noise of their own.
struct Device {
  double noise = 0.01;       // of a run
  double spikes = 0.03;      // share of runs that something interrupts, by up to once their time
  double of_window = 0.004;  // addresses: of one window to the next, of each side
  std::function<double(double)> speed = [](double) {
    return 1.0;
  };  // by the share of the window that is over
};

std::vector<Pair> window(uint64_t seed, double candidate_ms, double baseline_ms, const Device& device,
                         size_t pairs = 48) {
  RandomStream random(seed);
  const double candidate = candidate_ms * (1 + device.of_window * random.normal());
  const double baseline = baseline_ms * (1 + device.of_window * random.normal());
  const auto run = [&](double ms, double share) {
    double time = ms / device.speed(share) * std::exp(device.noise * random.normal());
    if (random.uniform() < device.spikes) time *= 1 + random.uniform();
    return time;
  };
  std::vector<Pair> all;
  for (size_t i = 0; i < pairs; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(pairs);
    all.push_back({run(candidate, share), run(baseline, share)});
  }
  return all;
}

const Device kQuiet;
const Device kDrifting{.speed = [](double share) { return 1 - 0.06 * share; }};
const Device kThrottling{.speed = [](double share) { return share < 0.5 ? 1 : 0.7; }};

}  // namespace

TEST_CASE("medians, quartiles and intervals of few values") {
  CHECK(median({}) == 0);
  CHECK(median({3}) == 3);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(interquartile_range({1, 2, 3, 4, 5}) == 2);
  const double constant[] = {2, 2, 2};
  CHECK(coefficient_of_variation(constant) == 0);
  CHECK(estimate_ratio({}).pairs == 0);
  CHECK(std::isinf(estimate_ratio({}).uncertainty()));
  const std::vector<Pair> five{{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}};
  // Five values hold their median with 94 %: nothing may be cut off.
  CHECK(estimate_ratio(five).low == 1);
  CHECK(estimate_ratio(five).high == 5);
  std::vector<Pair> ten;
  for (int i = 1; i <= 10; ++i) ten.push_back({1.0, static_cast<double>(i)});
  CHECK(estimate_ratio(ten).low == 2);
  CHECK(estimate_ratio(ten).high == 9);
  // What has no time says nothing.
  CHECK(estimate_ratio(std::vector<Pair>{{0, 1}, {1, 0}, {2, 4}}).value == 2);
}

TEST_CASE("the interval holds the true ratio in 95 of 100 windows") {
  int held = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Ratio ratio = estimate_ratio(window(seed, 0.1, 0.15, {.of_window = 0}));
    held += ratio.low <= 1.5 && 1.5 <= ratio.high;
  }
  CHECK(held >= 940);
}

TEST_CASE("who is faster is said only if it is known") {
  CHECK(order_of(estimate_ratio(window(1, 0.10, 0.11, kQuiet))) == Order::kFaster);
  CHECK(order_of(estimate_ratio(window(1, 0.11, 0.10, kQuiet))) == Order::kSlower);
  CHECK(order_of({}) == Order::kUnknown);
  int decided = 0;
  for (uint64_t seed = 0; seed < 200; ++seed)
    decided += order_of(estimate_ratio(window(seed, 0.1, 0.1, {.of_window = 0}))) != Order::kUnknown;
  CHECK(decided <= 20);
}

TEST_CASE("a speed-up varies by less than 2 % over 20 windows, also while the device slows down") {
  for (const Device& device : {kQuiet, kDrifting, Device{.noise = 0.03, .spikes = 0.1}}) {
    for (uint64_t batch = 0; batch < 20; ++batch) {
      std::vector<double> speedups;
      for (uint64_t i = 0; i < 20; ++i)
        speedups.push_back(estimate_ratio(window(mix_key({batch, i}), 0.06, 0.09, device)).value);
      CHECK(coefficient_of_variation(speedups) < 0.02);
    }
  }
}

TEST_CASE("programs that differ by 10 % are ordered right in 95 of 100 pairs of verifications") {
  for (const Device& device : {kQuiet, kDrifting, kThrottling, Device{.noise = 0.05, .spikes = 0.1}}) {
    int right = 0;
    for (uint64_t i = 0; i < 100; ++i) {
      const double slow = estimate_ratio(window(mix_key({1, i}), 0.110, 0.12, device)).value;
      const double fast = estimate_ratio(window(mix_key({2, i}), 0.100, 0.12, device)).value;
      right += fast > slow;
    }
    CHECK(right >= 95);
  }
}

TEST_CASE("a window goes on until its ratio is known, and is repeated where it is not to be had") {
  const SteadinessLimits limits;
  const auto advice = [&](const std::vector<Pair>& pairs, bool over = false) {
    return judge_pairs(pairs, limits, over).advice;
  };
  CHECK(advice(window(1, 0.1, 0.1, kQuiet, 8)) == Advice::kMorePairs);
  const Device exact{.noise = 1e-4, .spikes = 0};
  // Slow programs are known by few pairs, or not at all.
  CHECK(advice(window(1, 0.1, 0.1, exact, 8)) == Advice::kMorePairs);
  CHECK(advice(window(1, 0.1, 0.1, exact, limits.few_pairs), true) == Advice::kEnough);
  CHECK(advice(window(1, 0.1, 0.1, {.noise = 0.1}, 8), true) == Advice::kRepeatOnce);
  CHECK(advice(window(1, 0.1, 0.1, exact, limits.few_pairs - 1), true) == Advice::kHopeless);
  CHECK(advice(window(1, 0.1, 0.1, exact, 16)) == Advice::kEnough);
  CHECK(advice(window(1, 0.1, 0.1, {.noise = 0.05}, 16)) == Advice::kMorePairs);
  CHECK(advice(window(1, 0.1, 0.1, kQuiet, 64)) == Advice::kEnough);
  CHECK(advice(window(1, 0.1, 0.1, kDrifting, 64)) == Advice::kEnough);
  // What is not known by 64 pairs goes on: another window of 64 would know no more.
  CHECK(advice(window(1, 0.1, 0.1, {.noise = 0.3}, 64)) == Advice::kMorePairs);
  CHECK(advice(window(1, 0.1, 0.1, {.noise = 0.3}, limits.most_pairs)) == Advice::kRepeatOnce);
  const Judgement throttled = judge_pairs(window(1, 0.1, 0.1, kThrottling, 64), limits, false);
  CHECK(throttled.advice == Advice::kRepeat);
  CHECK(throttled.reason == "the device changed its speed within the window");
  // The ratio has survived all the same.
  CHECK_THAT(estimate_ratio(window(1, 0.1, 0.2, kThrottling, 64)).value, WithinRel(2.0, 0.02));
}

}  // namespace bicrl::timing

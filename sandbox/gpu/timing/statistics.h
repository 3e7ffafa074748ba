// Statistics of interleaved runs, and when a window has enough pairs. Pure functions; they assume no
// distribution of times, which have spikes to one side and steps.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace bicrl::timing {

// Two runs on equal inputs, one right after the other, in milliseconds.
struct Pair {
  double candidate_ms = 0, baseline_ms = 0;
};

// Of `share` in [0, 1], linear between neighbours; 0 of nothing.
double quantile(std::vector<double> values, double share);
double median(std::vector<double> values);
double interquartile_range(const std::vector<double>& values);

// How many times as long the baseline takes as the candidate: the median of the pairs' ratios, and an
// interval that holds the true median with at least 95 % (by order statistics; the whole range of few pairs).
struct Ratio {
  double value = 0, low = 0, high = 0;
  size_t pairs = 0;
  // Half the interval's width over the value; infinite without pairs.
  double uncertainty() const;
};
Ratio estimate_ratio(std::span<const Pair> pairs);

enum class Order { kSlower, kUnknown, kFaster };
// Whether the candidate is faster than its baseline: the interval lies on one side of 1.
Order order_of(const Ratio& ratio);

struct SteadinessLimits {
  size_t least_pairs = 16;
  size_t few_pairs = 5;  // that may do where no time is left for more
  size_t most_pairs = 192;
  double enough = 0.015;  // an uncertainty with which no more pairs are timed
  double most = 0.03;     // and one that is of no use
  double step = 0.08;     // of a side's median from the first half of a window to the second
};

enum class Advice {
  kMorePairs,
  kEnough,
  kRepeat,
  kRepeatOnce,  // behind a rest: what disturbed the device may have passed, but it is the program if not
  kHopeless     // a further window would say no more
};
struct Judgement {
  Advice advice = Advice::kMorePairs;
  std::string reason;  // of all that come behind kEnough
};
// What to do after these pairs of a window. `over`: no time is left for more.
Judgement judge_pairs(std::span<const Pair> pairs, const SteadinessLimits& limits, bool over);

}  // namespace bicrl::timing

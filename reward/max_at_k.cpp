#include "reward/max_at_k.h"

#include <algorithm>
#include <numeric>

#include "common/error.h"

namespace bicrl {
namespace {

// C(m, a) / C(n, a): the chance that a draws out of n are all among the first m. No binomial that could
// overflow.
double chance(int64_t m, int64_t a, int64_t n) {
  double product = 1;
  for (int64_t t = 0; t < a; ++t)
    product *= static_cast<double>(std::max<int64_t>(m - t, 0)) / static_cast<double>(n - t);
  return product;
}

}  // namespace

std::vector<double> max_at_k_advantages(const std::vector<double>& rewards, int64_t k) {
  const auto n = static_cast<int64_t>(rewards.size());
  BICRL_CHECK(n >= 2 && k >= 1, n, " rewards, k ", k);
  k = std::min(k, n - 1);
  std::vector<size_t> order(rewards.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rewards[a] < rewards[b]; });
  // Both means move with the rewards: differences from the least lose nothing.
  std::vector<double> above(rewards.size());
  for (size_t i = 0; i < above.size(); ++i) above[i] = rewards[order[i]] - rewards[order.front()];
  // Of the n - 1 others so many are below the largest of a set: the shares of sets with such a largest.
  const auto others = n - 1;
  const auto sets_with = static_cast<double>(k - 1) / static_cast<double>(n - k + 1);
  const auto sets_without = static_cast<double>(k) / static_cast<double>(n - k);
  std::vector<double> itself(rewards.size()), with(rewards.size()), without(rewards.size());
  for (int64_t m = 0; m < n; ++m) {
    const auto at = static_cast<size_t>(m);
    itself[at] = chance(m, k - 1, others);                         // C(m, k-1) / C(n-1, k-1)
    with[at] = k == 1 ? 0 : chance(m, k - 2, others) * sets_with;  // C(m, k-2) / C(n-1, k-1)
    without[at] = itself[at] * sets_without;                       // C(m, k-1) / C(n-1, k)
  }
  std::vector<double> advantages(rewards.size());
  for (size_t i = 0; i < above.size(); ++i) {
    double best_with = itself[i] * above[i], best_without = 0;
    for (size_t j = 0; j < i; ++j) best_without += without[j] * above[j];
    for (size_t j = i + 1; j < above.size(); ++j) {
      best_with += with[j - 1] * above[j];
      best_without += without[j - 1] * above[j];
    }
    advantages[order[i]] = best_with - best_without;
  }
  return advantages;
}

}  // namespace bicrl

// Advantages for the best of k responses instead of each by itself, after Walder and Karkhanis, "Pass@K
// Policy Optimization" (2025). A pure function.
#pragma once
#include <cstdint>
#include <vector>

namespace bicrl {

// For n rewards, in the order given: the mean of the largest reward over all sets of k responses that have
// this one, minus that over all sets of k that do not. The sum over responses of k / n times this, times the
// gradient of the response's log-probability, is an unbiased estimate of the gradient of the expected largest
// of k rewards; the second mean is the baseline, which does not depend on the response. They sum to 0, and
// for k = 1 are the reward minus the mean of the others. Needs n >= 2 and k >= 1; from k = n on no set leaves
// a response out, and n - 1 stands for k.
std::vector<double> max_at_k_advantages(const std::vector<double>& rewards, int64_t k);

}  // namespace bicrl

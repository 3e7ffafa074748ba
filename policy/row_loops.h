// Loops over the elements of a row, written so that the compiler keeps them in vector registers and the order
// of a sum is the same everywhere. For the CPU's kernels. Pure functions; thread-safe.
#pragma once
#include <cmath>
#include <cstdint>

namespace bicrl {

// Independent partial sums.
inline constexpr int64_t kLanes = 16;

template <class Term>
float sum_over(int64_t n, const Term& term) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  float sum = 0;
  for (; i < n; ++i) sum += term(i);
  for (const float lane : lanes) sum += lane;
  return sum;
}

// Calls `each` for 0..n-1, in runs of a length that the compiler knows.
template <class Each>
void for_each_element(int64_t n, const Each& each) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) each(i + lane);
  for (; i < n; ++i) each(i);
}

// to[i] = x[i] s weight[i] with s = 1 / sqrt(mean(x^2) + eps), which it returns.
inline float normalize_row(const float* __restrict x, const float* __restrict weight, float* __restrict to,
                           int64_t n, double eps) {
  const float mean = sum_over(n, [&](int64_t i) { return x[i] * x[i]; }) / static_cast<float>(n);
  const float scale = 1.0f / std::sqrt(mean + static_cast<float>(eps));
  for_each_element(n, [=](int64_t i) { to[i] = x[i] * scale * weight[i]; });
  return scale;
}

}  // namespace bicrl

// A long curve with few points: extremes are kept, so that no spike disappears, and every point is one of the
// run's own. Pure functions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bicrl::report {

struct CurvePoint {
  int64_t row = 0;  // in StepTable
  double value = 0;
};

// The rows that have a value, in order. With more than 2 * `buckets` of them: the first, the last, and of
// each of `buckets` ranges of equal length the smallest and the largest.
std::vector<CurvePoint> thinned_curve(const std::vector<double>& column, size_t buckets);

// Columns as the series of a stack, all at the same rows: those where any column has a value, in order. With
// more than `most_rows` of them: the first, the last, and of each of some ranges of equal length those that
// hold the smallest or the largest value of any column, or of the columns' sum. A value that is not finite
// counts as 0.
std::vector<std::vector<CurvePoint>> thinned_stack(const std::vector<std::vector<double>>& columns,
                                                   size_t most_rows);

}  // namespace bicrl::report

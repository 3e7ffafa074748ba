#include "report/thinned_curve.h"

#include <algorithm>
#include <cmath>

namespace bicrl::report {

std::vector<CurvePoint> thinned_curve(const std::vector<double>& column, size_t buckets) {
  std::vector<CurvePoint> all;
  for (size_t i = 0; i < column.size(); ++i)
    if (std::isfinite(column[i])) all.push_back({static_cast<int64_t>(i), column[i]});
  if (all.size() <= 2 * buckets) return all;
  std::vector<CurvePoint> kept = {all.front()};
  const auto keep = [&](const CurvePoint& point) {
    if (point.row > kept.back().row) kept.push_back(point);
  };
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(bucket * all.size() / buckets);
    const auto end = all.begin() + static_cast<ptrdiff_t>((bucket + 1) * all.size() / buckets);
    auto [low, high] = std::minmax_element(
        begin, end, [](const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; });
    if (high < low) std::swap(low, high);
    keep(*low);
    keep(*high);
  }
  keep(all.back());
  return kept;
}

}  // namespace bicrl::report

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

std::vector<std::vector<CurvePoint>> thinned_stack(const std::vector<std::vector<double>>& columns,
                                                   size_t most_rows) {
  std::vector<int64_t> all, kept;
  for (size_t row = 0; !columns.empty() && row < columns[0].size(); ++row)
    if (std::ranges::any_of(columns, [&](const auto& column) { return std::isfinite(column[row]); }))
      all.push_back(static_cast<int64_t>(row));
  const auto value = [&](const std::vector<double>& column, int64_t row) {
    const double v = column[static_cast<size_t>(row)];
    return std::isfinite(v) ? v : 0.0;
  };
  if (all.size() <= most_rows) {
    kept = all;
  } else {
    kept = {all.front(), all.back()};
    std::vector<std::vector<double>> candidates = columns;
    std::vector<double>& totals = candidates.emplace_back(columns[0].size(), 0.0);
    for (const std::vector<double>& column : columns)
      for (const int64_t row : all) totals[static_cast<size_t>(row)] += value(column, row);
    const size_t buckets = std::max<size_t>(1, most_rows / (2 * candidates.size()));
    for (size_t bucket = 0; bucket < buckets; ++bucket)
      for (const std::vector<double>& column : candidates) {
        const auto begin = all.begin() + static_cast<ptrdiff_t>(bucket * all.size() / buckets);
        const auto end = all.begin() + static_cast<ptrdiff_t>((bucket + 1) * all.size() / buckets);
        const auto [low, high] = std::minmax_element(
            begin, end, [&](int64_t a, int64_t b) { return value(column, a) < value(column, b); });
        kept.push_back(*low);
        kept.push_back(*high);
      }
    std::ranges::sort(kept);
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  }
  std::vector<std::vector<CurvePoint>> series(columns.size());
  for (size_t i = 0; i < columns.size(); ++i)
    for (const int64_t row : kept) series[i].push_back({row, value(columns[i], row)});
  return series;
}

}  // namespace bicrl::report

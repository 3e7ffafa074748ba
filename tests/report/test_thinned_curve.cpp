#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "report/thinned_curve.h"

namespace bicrl::report {
namespace {

TEST_CASE("short curves keep every value and skip rows without one") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<CurvePoint> points =
      thinned_curve({1, none, 3, std::numeric_limits<double>::infinity(), 5}, 10);
  REQUIRE(points.size() == 3);
  CHECK(points[1].row == 2);
  CHECK(points[2].value == 5);
}

TEST_CASE("long curves keep their extremes, their ends and their own values") {
  std::mt19937 draw(7);
  std::normal_distribution<double> normal;
  std::vector<double> column(10'000);
  for (double& value : column) value = normal(draw);
  column[1234] = 1000;
  column[1235] = -1000;
  column[7777] = std::numeric_limits<double>::quiet_NaN();
  const std::vector<CurvePoint> points = thinned_curve(column, 100);
  CHECK(points.size() <= 202);
  CHECK(points.front().row == 0);
  CHECK(points.back().row == 9999);
  for (size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].value == column[static_cast<size_t>(points[i].row)]);
    if (i > 0) CHECK(points[i].row > points[i - 1].row);
  }
  for (const double extreme : {1000.0, -1000.0})
    CHECK(std::ranges::any_of(points, [&](const CurvePoint& point) { return point.value == extreme; }));
  // Of each tenth of the steps, the largest and the smallest.
  for (size_t tenth = 0; tenth < 10; ++tenth) {
    double most = -2000, least = 2000, shown_most = -2000, shown_least = 2000;
    for (size_t i = tenth * 1000 + 100; i < tenth * 1000 + 900; ++i)
      if (std::isfinite(column[i])) most = std::max(most, column[i]), least = std::min(least, column[i]);
    for (const CurvePoint& point : points)
      if (point.row / 1000 == static_cast<int64_t>(tenth))
        shown_most = std::max(shown_most, point.value), shown_least = std::min(shown_least, point.value);
    CHECK(shown_most >= most);
    CHECK(shown_least <= least);
  }
}

TEST_CASE("long stacks keep the spike of each series") {
  std::vector<std::vector<double>> columns(8, std::vector<double>(1000, 1.0));
  for (size_t i = 0; i < columns.size(); ++i) columns[i][100 * i + 37] = 50 + static_cast<double>(i);
  columns[3][500] = std::numeric_limits<double>::quiet_NaN();
  const auto series = thinned_stack(columns, 440);
  REQUIRE(series.size() == columns.size());
  for (size_t i = 0; i < series.size(); ++i) {
    CHECK(series[i].size() <= 442);
    CHECK(series[i].front().row == 0);
    CHECK(series[i].back().row == 999);
    CHECK(std::ranges::count(series[i], 50 + static_cast<double>(i), &CurvePoint::value) == 1);
    REQUIRE(series[i].size() == series[0].size());
    for (size_t k = 0; k < series[i].size(); ++k) {
      const double value = columns[i][static_cast<size_t>(series[i][k].row)];
      CHECK(series[i][k].value == (std::isfinite(value) ? value : 0));
      CHECK(series[i][k].row == series[0][k].row);
    }
  }
}

TEST_CASE("long stacks keep the largest total") {
  std::vector<std::vector<double>> columns(2, std::vector<double>(1000));
  for (size_t row = 0; row < 1000; ++row) {
    columns[0][row] = row % 2 == 0 ? 10 : 0;
    columns[1][row] = row % 2 == 0 ? 0 : 10;
  }
  columns[0][537] = columns[1][537] = 9;
  columns[0][638] = columns[1][638] = 1;
  const auto series = thinned_stack(columns, 60);
  CHECK(series[0].size() <= 62);
  const auto has_total = [&](double total) {
    for (size_t i = 0; i < series[0].size(); ++i)
      if (series[0][i].value + series[1][i].value == total) return true;
    return false;
  };
  CHECK(has_total(18));
  CHECK(has_total(2));
}

TEST_CASE("short stacks keep every row where a series has a value") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const auto series = thinned_stack({{none, 1, none}, {none, none, 2}}, 10);
  REQUIRE(series[0].size() == 2);
  CHECK(series[0][1].row == 2);
  CHECK(series[0][1].value == 0);
  CHECK(series[1][1].value == 2);
  CHECK(thinned_stack({}, 10).empty());
}

TEST_CASE("curves without values have no points") {
  CHECK(thinned_curve({}, 5).empty());
  CHECK(thinned_curve(std::vector<double>(50, std::nan("")), 5).empty());
}

}  // namespace
}  // namespace bicrl::report

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "report/page/chart_frame.h"
#include "report/page/charts.h"

namespace bicrl::report {
namespace {

// Bars touch, so that many of them look like areas.
struct BarPlaces {
  std::vector<double> left, width;
};

BarPlaces bar_places(const std::vector<double>& x, const RunAxis& axis) {
  BarPlaces places;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto phase =
        std::ranges::find_if(axis.phases(), [&](const RunAxis::Phase& p) { return x[i] <= p.end; });
    const double begin = phase == axis.phases().end() ? 0 : phase->begin,
                 end = phase == axis.phases().end() ? 1 : phase->end;
    const double left = i > 0 && x[i - 1] > begin ? (x[i - 1] + x[i]) / 2 : begin;
    const double right = i + 1 < x.size() && x[i + 1] < end ? (x[i] + x[i + 1]) / 2 : end;
    places.left.push_back(chart_x(left));
    const double gap = (right - left) * (kPlotRight - kPlotLeft) > 6 ? 1.2 : 0;
    places.width.push_back(std::max((right - left) * (kPlotRight - kPlotLeft) - gap, 0.3));
  }
  return places;
}

}  // namespace

DrawnChart draw_stack(const Chart& chart, const RunAxis& axis) {
  const size_t count = chart.series.empty() ? 0 : chart.series[0].points.size();
  std::vector<double> totals(count, 0.0);
  for (const ChartSeries& series : chart.series)
    for (size_t i = 0; i < count; ++i) totals[i] += series.points[i].value;
  const ValueScale scale = value_scale(0, count == 0 ? 1 : *std::ranges::max_element(totals), true);
  Html picture = chart_frame(axis, scale, chart.unit);
  nlohmann::json data = {{"kind", "stack"},
                         {"title", chart.title},
                         {"unit", static_cast<int>(chart.unit)},
                         {"series", nlohmann::json::array()}};
  std::vector<LegendEntry> legend;
  std::vector<double> below(count, 0.0);
  const BarPlaces places = bar_places(count == 0 ? std::vector<double>{} : chart.series[0].x, axis);
  for (const ChartSeries& series : chart.series) {
    std::string path;
    for (size_t i = 0; i < count; ++i) {
      const double value = series.points[i].value, bottom = scale.y(below[i]);
      below[i] += value;
      const double height = bottom - scale.y(below[i]);
      if (value > 0)
        path +=
            concat("M", coordinate(places.left[i]), " ", coordinate(bottom), "h", coordinate(places.width[i]),
                   "v", coordinate(-height), "h", coordinate(-places.width[i]), "z");
    }
    picture += element("path", {{"class", concat("bar f", series.colour)}, {"d", path}});
    data["series"].push_back(series_data(series));
    legend.push_back({series.label, series.colour});
  }
  return {chart_figure(chart.id, chart.title, "", "", legend, picture, scale), data};
}

DrawnChart draw_histogram(const HistogramChart& chart, const RunAxis& axis) {
  const ValueScale scale = value_scale(chart.low, chart.high, false);
  Html picture = chart_frame(axis, scale, Unit::kNumber);
  nlohmann::json columns = nlohmann::json::array();
  for (const HistogramChart::Column& column : chart.columns) {
    int64_t total = 0;
    for (const int64_t count : column.counts) total += count;
    const double bins = static_cast<double>(column.counts.size()), height = (chart.high - chart.low) / bins;
    const double left = chart_x(column.begin), width = chart_x(column.end) - left;
    for (size_t bin = 0; bin < column.counts.size(); ++bin) {
      if (column.counts[bin] == 0) continue;
      const double top = scale.y(chart.low + height * (static_cast<double>(bin) + 1)),
                   bottom = scale.y(chart.low + height * static_cast<double>(bin));
      // The square root keeps cells of a few responses visible.
      const double share = static_cast<double>(column.counts[bin]) / static_cast<double>(total);
      picture += element(
          "rect", {{"class", "cell"},
                   {"x", coordinate(left)},
                   {"y", coordinate(top)},
                   {"width", coordinate(std::max(width - (width > 5 ? 1 : 0), 0.4))},
                   {"height", coordinate(std::max(bottom - top - 0.6, 0.4))},
                   {"fill-opacity", coordinate(std::max(0.1, std::round(10 * std::sqrt(share)) / 10))}});
    }
    columns.push_back(
        {{"first_row", column.first_row},
         {"last_row", column.last_row},
         {"counts", column.counts},
         {"x", {nlohmann::json::parse(coordinate(left)), nlohmann::json::parse(coordinate(left + width))}}});
  }
  const nlohmann::json data = {{"kind", "histogram"},
                               {"title", chart.title},
                               {"low", chart.low},
                               {"high", chart.high},
                               {"columns", columns}};
  return {chart_figure(chart.id, chart.title, "",
                       "Each column is a step, or some steps in a long run; the stronger a cell's colour, "
                       "the more responses got that reward. Choose a cell to see its responses.",
                       {}, picture, scale),
          data};
}

}  // namespace bicrl::report

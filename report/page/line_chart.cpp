#include <algorithm>
#include <limits>

#include "common/error.h"
#include "report/page/chart_frame.h"
#include "report/page/charts.h"

namespace bicrl::report {
namespace {

// A line breaks between phases: their steps follow each other, their figures do not mean the same.
std::string line_path(const ChartSeries& series, const RunAxis& axis, const ValueScale& scale) {
  const auto phase_at = [&](double x) {
    return std::ranges::find_if(axis.phases(), [&](const RunAxis::Phase& p) { return x <= p.end; }) -
           axis.phases().begin();
  };
  std::string path;
  for (size_t i = 0; i < series.points.size(); ++i) {
    const bool is_start = i == 0 || phase_at(series.x[i]) != phase_at(series.x[i - 1]);
    path += concat(is_start ? "M" : "L", coordinate(chart_x(series.x[i])), " ",
                   coordinate(scale.y(series.points[i].value)));
  }
  return path;
}

Html dots(const ChartSeries& series, const ValueScale& scale) {
  constexpr size_t kMostDots = 40;  // more would hide the line
  Html all;
  if (series.points.size() > kMostDots) return all;
  for (size_t i = 0; i < series.points.size(); ++i)
    all += element("circle", {{"class", concat("dot f", series.colour)},
                              {"cx", coordinate(chart_x(series.x[i]))},
                              {"cy", coordinate(scale.y(series.points[i].value))},
                              {"r", "1.8"}});
  return all;
}

Html mark(const ChartMark& mark, const ValueScale& scale) {
  const double x = chart_x(mark.x), y = scale.y(mark.estimate.value);
  const double low = scale.y(mark.estimate.low), high = scale.y(mark.estimate.high);
  const std::string whisker =
      concat("M", coordinate(x), " ", coordinate(low), "V", coordinate(high), "M", coordinate(x - 3), " ",
             coordinate(low), "h6M", coordinate(x - 3), " ", coordinate(high), "h6");
  const std::string diamond = concat("M", coordinate(x), " ", coordinate(y - 4), "l4 4l-4 4l-4-4z");
  return element("g", {{"class", concat("mark k", mark.colour)}},
                 element("title", text(mark.label)) +
                     element("path", {{"class", "whisker"}, {"d", whisker}}) +
                     element("path", {{"class", "diamond"}, {"d", diamond}}));
}

ValueScale scale_of(const Chart& chart) {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  const auto cover = [&](double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const ChartSeries& series : chart.series)
    for (const CurvePoint& point : series.points) cover(point.value);
  for (const ChartMark& mark : chart.marks)
    for (const double value : {mark.estimate.low, mark.estimate.high}) cover(value);
  if (low > high) return value_scale(0, 1, true);
  // Bytes are named by powers of 1024, and their axis has round numbers of those.
  double unit = 1;
  while (chart.unit == Unit::kBytes && high >= 1024 * unit) unit *= 1024;
  ValueScale scale = value_scale(low / unit, high / unit, chart.from_zero);
  scale.low *= unit;
  scale.high *= unit;
  for (double& tick : scale.ticks) tick *= unit;
  if (chart.unit == Unit::kShare && low >= 0 && high <= 1) {  // no share is less than none or more than all
    scale.low = std::max(scale.low, 0.0);
    scale.high = std::min(scale.high, 1.0);
    std::erase_if(scale.ticks, [&](double tick) { return tick < scale.low || tick > scale.high + 1e-9; });
  }
  return scale;
}

}  // namespace

nlohmann::json series_data(const ChartSeries& series) {
  nlohmann::json rows = nlohmann::json::array(), values = nlohmann::json::array(),
                 x = nlohmann::json::array();
  for (size_t i = 0; i < series.points.size(); ++i) {
    rows.push_back(series.points[i].row);
    values.push_back(series.points[i].value);
    x.push_back(nlohmann::json::parse(coordinate(chart_x(series.x[i]))));
  }
  return {{"label", series.label}, {"run", series.run}, {"colour", series.colour},
          {"rows", rows},          {"values", values},  {"x", x}};
}

DrawnChart draw_lines(const Chart& chart, const RunAxis& axis) {
  const ValueScale scale = scale_of(chart);
  Html picture = chart_frame(axis, scale, chart.unit);
  nlohmann::json data = {{"kind", "lines"},
                         {"title", chart.title},
                         {"unit", static_cast<int>(chart.unit)},
                         {"series", nlohmann::json::array()},
                         {"marks", nlohmann::json::array()}};
  std::vector<LegendEntry> legend;
  for (const ChartSeries& series : chart.series) {
    if (series.points.empty()) continue;
    picture += element("path", {{"class", concat("line c", series.colour, " n", series.run)},
                                {"d", line_path(series, axis, scale)}}) +
               dots(series, scale);
    data["series"].push_back(series_data(series));
    legend.push_back({series.label, series.colour});
  }
  for (const ChartMark& each : chart.marks) {
    picture += mark(each, scale);
    data["marks"].push_back({{"label", each.label},
                             {"x", nlohmann::json::parse(coordinate(chart_x(each.x)))},
                             {"value", each.estimate.value},
                             {"low", each.estimate.low},
                             {"high", each.estimate.high}});
  }
  if (!chart.marks.empty() && chart.series.size() <= 1)
    legend.push_back({"held-out tasks, 95 % interval", chart.marks.front().colour});
  if (legend.size() == 1) legend.clear();
  const std::string last = chart.series.size() == 1 && !chart.series[0].points.empty()
                               ? figure_text(chart.series[0].points.back().value, chart.unit)
                               : "";
  return {chart_figure(chart.id, chart.title, last, "", legend, picture, scale), data};
}

}  // namespace bicrl::report

#include "report/page/chart_frame.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/error.h"

namespace bicrl::report {
namespace {

constexpr double kLetterWidth = 6.6;  // of labels, in the picture's units

std::string phase_label(const RunAxis::Phase& phase) {
  std::string label = phase.name;
  std::ranges::replace(label, '_', ' ');
  const double room = (phase.end - phase.begin) * (kPlotRight - kPlotLeft) / kLetterWidth;
  if (static_cast<double>(label.size()) > room) label.resize(room < 3 ? 0 : static_cast<size_t>(room) - 1);
  return label;
}

Html label_at(double x, double y, const char* anchor, const char* style, const std::string& label) {
  return element("text",
                 {{"x", coordinate(x)}, {"y", coordinate(y)}, {"text-anchor", anchor}, {"class", style}},
                 text(label));
}

Html line_between(double x1, double y1, double x2, double y2, const char* style) {
  return element(
      "path",
      {{"class", style},
       {"d", concat("M", coordinate(x1), " ", coordinate(y1), "L", coordinate(x2), " ", coordinate(y2))}});
}

double round_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 4)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (range / (factor * power) <= 4.5) return factor * power;
  return 10 * power;
}

}  // namespace

double ValueScale::y(double value) const {
  return kPlotBottom - (value - low) / (high - low) * (kPlotBottom - kPlotTop);
}

ValueScale value_scale(double low, double high, bool from_zero) {
  if (from_zero) {
    low = std::min(low, 0.0);
    high = std::max(high, 0.0);
  }
  // Equal values, and those which differ by rounding alone, are a line in the middle.
  if (high - low <= 1e-9 * std::max(std::abs(low), std::abs(high))) {
    const double room = high == 0 ? 1 : std::abs(high) / 2;
    if (!from_zero || low < 0) low -= room;
    high += room;
  }
  const double step = round_step(high - low);
  ValueScale scale;
  scale.low = std::floor(low / step + 1e-9) * step;
  scale.high = std::ceil(high / step - 1e-9) * step;
  for (double tick = scale.low; tick <= scale.high + step / 2; tick += step)
    scale.ticks.push_back(std::abs(tick) < step / 1e6 ? 0 : tick);
  return scale;
}

double chart_x(double share) { return kPlotLeft + share * (kPlotRight - kPlotLeft); }

std::string coordinate(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.1f", value);
  std::string shown = text;
  if (shown.ends_with(".0")) shown.resize(shown.size() - 2);
  return shown;
}

Html chart_frame(const RunAxis& axis, const ValueScale& scale, Unit unit) {
  Html frame;
  for (const double tick : scale.ticks) {
    frame += line_between(kPlotLeft, scale.y(tick), kPlotRight, scale.y(tick), "grid");
    frame += label_at(kPlotLeft - 6, scale.y(tick) + 3.5, "end", "tick", figure_text(tick, unit));
  }
  for (const RunAxis::Phase& phase : axis.phases()) {
    const double begin = chart_x(phase.begin), end = chart_x(phase.end);
    if (phase.begin > 0) frame += line_between(begin, kPlotTop - 14, begin, kPlotBottom, "border");
    if (const std::string label = phase_label(phase); !label.empty())
      frame += label_at((begin + end) / 2, kPlotTop - 7, "middle", "phase", label);
    if (phase.steps == 1) {  // its point is in the middle
      frame += label_at((begin + end) / 2, kPlotBottom + 14, "middle", "tick", "1");
      continue;
    }
    const std::string last = std::to_string(phase.steps);
    if ((end - begin) > kLetterWidth * static_cast<double>(last.size() + 1))
      frame += label_at(end - 1, kPlotBottom + 14, "end", "tick", last);
    if (phase.begin == 0 && (end - begin) > kLetterWidth * static_cast<double>(last.size() + 5))
      frame += label_at(begin, kPlotBottom + 14, "start", "tick", "1");
  }
  return frame;
}

Html chart_figure(const std::string& id, const std::string& title, const std::string& value,
                  const std::string& explanation, const std::vector<LegendEntry>& legend, const Html& picture,
                  const ValueScale& scale) {
  Html caption = element("span", {{"class", "title"}}, text(title));
  if (!value.empty()) caption += element("span", {{"class", "value"}}, text(value));
  Html key;
  for (const LegendEntry& entry : legend)
    key += element("li", element("span", {{"class", concat("swatch f", entry.colour)}}) + text(entry.label));
  Html figure = element("figcaption", caption);
  if (!explanation.empty()) figure += element("p", {{"class", "explanation"}}, text(explanation));
  figure += element("svg",
                    {{"viewBox", concat("0 0 ", kChartWidth, " ", kChartHeight)},
                     {"role", "application"},
                     {"aria-roledescription", "chart"},
                     {"tabindex", "0"},
                     {"aria-label", concat(title, value.empty() ? "" : ", last value ", value,
                                           ". Arrow keys move along the curve.")},
                     {"data-chart", id},
                     {"data-low", concat(scale.low)},
                     {"data-high", concat(scale.high)}},
                    picture);
  if (!legend.empty()) figure += element("ul", {{"class", "legend"}}, key);
  return element("figure", {{"class", "chart"}, {"id", "chart-" + id}}, figure);
}

}  // namespace bicrl::report

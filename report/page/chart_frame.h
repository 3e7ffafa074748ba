// The frame of a chart: axes, legend, and the places of values. Pure functions.
#pragma once
#include <string>
#include <vector>

#include "report/page/figure_text.h"
#include "report/page/html.h"
#include "report/page/run_axis.h"

namespace bicrl::report {

// In the picture's units; the style sheet scales it.
inline constexpr double kChartWidth = 440, kChartHeight = 214;
inline constexpr double kPlotLeft = 50, kPlotRight = 432, kPlotTop = 22, kPlotBottom = 190;

struct ValueScale {
  double low = 0, high = 1;
  std::vector<double> ticks{};
  double y(double value) const;  // in the picture
};
// Covers the values with round numbers.
ValueScale value_scale(double low, double high, bool from_zero);

double chart_x(double share);          // 0 to 1 to the picture's unit
std::string coordinate(double value);  // with one digit behind the point

// Grid, labels of both axes, borders of phases.
Html chart_frame(const RunAxis& axis, const ValueScale& scale, Unit unit);

struct LegendEntry {
  std::string label{};
  int colour = 0;
};
// The figure element around a picture.
Html chart_figure(const std::string& id, const std::string& title, const std::string& value,
                  const std::string& explanation, const std::vector<LegendEntry>& legend, const Html& picture,
                  const ValueScale& scale);

}  // namespace bicrl::report

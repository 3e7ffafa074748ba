// Pictures of curves, of stacked bars and of histograms as SVG, readable without a script, and the same
// points as JSON for the script and for readers of the page's data. Pure functions.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/evaluation_entry.h"
#include "report/page/figure_text.h"
#include "report/page/html.h"
#include "report/page/run_axis.h"
#include "report/thinned_curve.h"

namespace bicrl::report {

struct ChartSeries {
  std::string label{};
  int colour = 0;  // class "c0" to "c7" of the style sheet
  int64_t run = 0;
  std::vector<CurvePoint> points{};
  std::vector<double> x{};  // of each point, 0 to 1
};

// An evaluation on a curve.
struct ChartMark {
  std::string label{};
  int colour = 0;
  double x = 0;
  Estimate estimate{};
};

struct Chart {
  std::string id{};
  std::string title{};
  Unit unit = Unit::kNumber;
  std::vector<ChartSeries> series{};
  std::vector<ChartMark> marks{};
  bool from_zero = false;  // the vertical axis holds 0
};

struct DrawnChart {
  Html picture{};
  nlohmann::json data{};
};

// What the page's script knows of a series: rows, values and places in the picture.
nlohmann::json series_data(const ChartSeries& series);

DrawnChart draw_lines(const Chart& chart, const RunAxis& axis);

// Bars of parts on top of each other, in the order of the series; all have points at the same rows.
DrawnChart draw_stack(const Chart& chart, const RunAxis& axis);

// Shares of a column's responses by reward, as a picture of cells.
struct HistogramChart {
  std::string id{};
  std::string title{};
  double low = 0, high = 1;  // of all bins
  struct Column {
    int64_t first_row = 0, last_row = 0;
    double begin = 0, end = 0;      // 0 to 1
    std::vector<int64_t> counts{};  // of each bin, the lowest first
  };
  std::vector<Column> columns{};
};
DrawnChart draw_histogram(const HistogramChart& chart, const RunAxis& axis);

}  // namespace bicrl::report

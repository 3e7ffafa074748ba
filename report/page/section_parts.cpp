#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "report/page/charts.h"
#include "report/page/sections.h"

namespace bicrl::report {
namespace {

constexpr size_t kCurveBuckets = 250;
constexpr size_t kMarkBuckets = 40;
constexpr int kHeldOutColour = 1;

}  // namespace

std::string step_name(const StepTable& steps, int64_t row) {
  return concat(steps.phase_of(row).name, " ", steps.step[static_cast<size_t>(row)]);
}

TableCell cell(const std::string& value) { return {text(value), false}; }
TableCell number_cell(const std::string& value) { return {text(value), true}; }

namespace {

bool has_values(const std::vector<std::vector<TableCell>>& rows, size_t column) {
  return rows.empty() || std::ranges::any_of(rows, [column](const auto& row) {
           return column < row.size() && row[column].content.markup() != "–";
         });
}

}  // namespace

Html table(const std::string& caption, const std::vector<std::string>& heads,
           const std::vector<std::vector<TableCell>>& rows) {
  Html head, body;
  std::vector<bool> shown;
  for (size_t i = 0; i < heads.size(); ++i) shown.push_back(i == 0 || has_values(rows, i));
  for (size_t i = 0; i < heads.size(); ++i) {
    if (!shown[i]) continue;
    const bool is_number = !rows.empty() && i < rows[0].size() && rows[0][i].is_number;
    head += element("th", {{"scope", "col"}, {"class", is_number ? "number" : ""}}, text(heads[i]));
  }
  for (const auto& row : rows) {
    Html cells;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i < heads.size() && !shown[i]) continue;
      const std::string label = i < heads.size() ? heads[i] : "";  // for narrow screens, where rows are cards
      cells += i == 0 ? element("th", {{"scope", "row"}, {"data-label", label}}, row[i].content)
                      : element("td", {{"class", row[i].is_number ? "number" : ""}, {"data-label", label}},
                                row[i].content);
    }
    body += element("tr", cells);
  }
  return element("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", caption}},
                 element("table", element("caption", text(caption)) + element("thead", element("tr", head)) +
                                      element("tbody", body)));
}

Html outcome_badge(const std::string& outcome) {
  const bool is_correct = outcome == "correct";
  const bool is_known = is_judged(outcome);
  std::string name = outcome;
  std::ranges::replace(name, '_', ' ');
  return element("span",
                 {{"class", is_correct ? "badge good"
                            : is_known ? "badge bad"
                                       : "badge"}},
                 text((is_correct ? "✓ "
                       : is_known ? "✗ "
                                  : "– ") +
                      name));
}

std::vector<double> places_of(const RunRecord& run, const RunAxis& axis,
                              const std::vector<CurvePoint>& points) {
  std::vector<double> x;
  for (const CurvePoint& point : points)
    x.push_back(
        axis.middle_of(run.steps.phase_of(point.row).name, run.steps.step[static_cast<size_t>(point.row)]));
  return x;
}

RunAxis axis_of(const std::vector<const RunRecord*>& runs, const RunAxis& axis,
                const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const RunRecord* run : runs)
    for (const PhaseSpan& phase : run->steps.phases)
      for (const std::string& name : columns) {
        const auto column = run->steps.columns.find(name);
        if (column == run->steps.columns.end()) continue;
        const auto begin = column->second.begin() + phase.begin, end = column->second.begin() + phase.end;
        if (std::any_of(begin, end, [](double value) { return std::isfinite(value); }))
          names.push_back(phase.name);
      }
  return axis.of_phases(names);
}

std::vector<size_t> evaluations_on(const RunRecord& run, const CurveChoice& choice) {
  std::vector<size_t> indices;
  if (!choice.held_out) return indices;
  std::vector<double> values;
  for (const EvaluationEntry& evaluation : run.evaluations) {
    const Estimate estimate = choice.held_out(evaluation);
    values.push_back(evaluation.is_variant || !estimate.is_known ? std::nan("") : estimate.value);
  }
  for (const CurvePoint& point : thinned_curve(values, kMarkBuckets))
    indices.push_back(static_cast<size_t>(point.row));
  return indices;
}

void add_curve(const std::vector<RunRecord>& runs, const RunAxis& whole_axis, const CurveChoice& choice,
               Html& grid, nlohmann::json& charts) {
  std::vector<const RunRecord*> with_values;
  for (const RunRecord& run : runs)
    if (run.steps.has(choice.column)) with_values.push_back(&run);
  if (with_values.empty()) return;
  const RunAxis axis = axis_of(with_values, whole_axis, {choice.column});
  Chart chart{.id = choice.id,
              .title = choice.title,
              .unit = unit_of(choice.column),
              .series = {},
              .marks = {},
              .from_zero = choice.from_zero};
  for (const RunRecord* run : with_values) {
    const auto number = run - runs.data();
    const int colour = runs.size() == 1 ? 0 : static_cast<int>(number % 8);
    ChartSeries series{.label = runs.size() == 1 ? "training" : run->name,
                       .colour = colour,
                       .run = number,
                       .points = thinned_curve(run->steps.columns.at(choice.column), kCurveBuckets),
                       .x = {}};
    series.x = places_of(*run, axis, series.points);
    chart.series.push_back(std::move(series));
    for (const size_t index : evaluations_on(*run, choice)) {
      const EvaluationEntry& evaluation = run->evaluations[index];
      const Estimate estimate = choice.held_out(evaluation);
      // Of phases that are not on this axis, what they ended with: the others would all lie on one place.
      const bool is_on_axis =
          std::ranges::find(axis.phases(), evaluation.phase, &RunAxis::Phase::name) != axis.phases().end();
      if (!is_on_axis && evaluation.step > 0) continue;
      const double x = evaluation.run_row < 0
                           ? 0
                           : axis.end_of(run->steps.phase_of(evaluation.run_row).name,
                                         run->steps.step[static_cast<size_t>(evaluation.run_row)]);
      chart.marks.push_back({.label = concat(runs.size() == 1 ? "" : run->name + ", ", evaluation.name, ": ",
                                             figure_text(estimate.value, chart.unit), " (",
                                             interval_text(estimate, chart.unit), ")"),
                             .colour = runs.size() == 1 ? kHeldOutColour : colour,
                             .x = x,
                             .estimate = estimate});
    }
  }
  DrawnChart drawn = draw_lines(chart, axis);
  drawn.data["key"] = choice.column;
  grid += drawn.picture;
  charts[choice.id] = std::move(drawn.data);
}

}  // namespace bicrl::report

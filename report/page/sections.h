// The sections of a page, each as markup that can be read without a script and as data for the script. Pure
// functions of what was read.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/page/figure_text.h"
#include "report/page/html.h"
#include "report/page/run_axis.h"
#include "report/run_record.h"
#include "report/thinned_curve.h"

namespace bicrl::report {

struct SectionParts {
  Html markup{};
  nlohmann::json charts = nlohmann::json::object();  // by id
  nlohmann::json data = nlohmann::json::object();    // of the section
};

SectionParts overview_section(const std::vector<RunRecord>& runs, const RunAxis& axis);
SectionParts reward_section(const std::vector<RunRecord>& runs, const RunAxis& axis);
SectionParts group_section(const std::vector<RunRecord>& runs);
SectionParts denoising_section(const std::vector<RunRecord>& runs);
SectionParts kernel_section(const std::vector<RunRecord>& runs);

// "end_to_end 12", of a row.
std::string step_name(const StepTable& steps, int64_t row);

// A table with a caption for readers who do not see it; cells that hold numbers are right-aligned. A
// column in which every row has "–" is left out.
struct TableCell {
  Html content{};
  bool is_number = false;
};
Html table(const std::string& caption, const std::vector<std::string>& heads,
           const std::vector<std::vector<TableCell>>& rows);
TableCell cell(const std::string& value);
TableCell number_cell(const std::string& value);
// "correct" and fault classes, with a colour and a sign that does without it.
Html outcome_badge(const std::string& outcome);

// A curve of a column for every run that has it.
struct CurveChoice {
  std::string id{};  // of the chart
  std::string column{};
  std::string title{};
  bool from_zero = false;
  Estimate (*held_out)(const EvaluationEntry&) = nullptr;  // of the same figure, on the curve
};
// Indices of the run's evaluations that lie on a curve. Of many, those that are the first, the last, or an
// extreme of their part.
std::vector<size_t> evaluations_on(const RunRecord& run, const CurveChoice& choice);
void add_curve(const std::vector<RunRecord>& runs, const RunAxis& axis, const CurveChoice& choice, Html& grid,
               nlohmann::json& charts);

// The axis with those phases alone in which a column has values.
RunAxis axis_of(const std::vector<const RunRecord*>& runs, const RunAxis& axis,
                const std::vector<std::string>& columns);

// The places of a column's points; all values at the same rows for stacks.
std::vector<double> places_of(const RunRecord& run, const RunAxis& axis,
                              const std::vector<CurvePoint>& points);

}  // namespace bicrl::report

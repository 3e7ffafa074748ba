// What was rewarded and what failed: terms, failures by class, the distribution of rewards, groups that
// teach.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "common/error.h"
#include "report/page/charts.h"
#include "report/page/sections.h"
#include "report/reward_falls.h"

namespace bicrl::report {
namespace {

constexpr size_t kTermBuckets = 110;
constexpr size_t kMostStackRows = 440;
constexpr int64_t kHistogramColumns = 120;
constexpr size_t kHistogramBins = 24;
constexpr size_t kMostFalls = 5;
constexpr size_t kMostAdvantages = 5;
constexpr size_t kMostClasses = 7;  // a colour each; the rest are one more

// Rows with values of `column`, thinned by it.
std::vector<CurvePoint> points_of(const RunRecord& run, const std::string& column) {
  const auto found = run.steps.columns.find(column);
  return found == run.steps.columns.end() ? std::vector<CurvePoint>{}
                                          : thinned_curve(found->second, kTermBuckets);
}

// Whole, with 0 where a step of reinforcement lacks it, and without a value at other steps.
std::vector<double> stack_column(const RunRecord& run, const std::string& name) {
  const auto responses = run.steps.columns.find("responses"), found = run.steps.columns.find(name);
  std::vector<double> column(static_cast<size_t>(run.steps.rows()), std::nan(""));
  if (responses == run.steps.columns.end()) return column;
  for (size_t row = 0; row < column.size(); ++row)
    if (std::isfinite(responses->second[row]))
      column[row] =
          found != run.steps.columns.end() && std::isfinite(found->second[row]) ? found->second[row] : 0;
  return column;
}

class RewardCharts {
 public:
  RewardCharts(const std::vector<RunRecord>& runs, const RunRecord& run, const RunAxis& axis,
               SectionParts& parts)
      : run_(run),
        number_(&run - runs.data()),
        axis_(axis_of({&run}, axis, {"responses"})),  // a replay of rollouts has no rewards
        parts_(parts) {}

  Html grid() {
    Html grid = terms() + failures() + histogram() + groups();
    return grid.empty() ? grid : element("div", {{"class", "grid pairs"}}, grid);
  }

 private:
  ChartSeries series(const std::string& label, int colour, const std::vector<CurvePoint>& points) const {
    return {.label = label,
            .colour = colour,
            .run = number_,
            .points = points,
            .x = places_of(run_, axis_, points)};
  }
  Html keep(const std::string& id, DrawnChart drawn) {
    parts_.charts[id] = std::move(drawn.data);
    return drawn.picture;
  }
  std::string id(const char* name) const { return concat(name, "-", number_); }

  Html terms() {
    Chart chart{
        .id = id("terms"), .title = "Reward terms, mean", .series = {}, .marks = {}, .from_zero = true};
    int colour = 0;
    for (const std::string& term : run_.steps.members("reward_terms")) {
      chart.series.push_back(
          series(readable_name(term), colour % 7, points_of(run_, "reward_terms." + term)));
      ++colour;
    }
    return chart.series.empty() ? Html() : keep(chart.id, draw_lines(chart, axis_));
  }

  // The commonest classes in the order of their numbers.
  std::vector<std::string> classes() const {
    std::vector<std::pair<double, std::string>> counted;
    for (const std::string& name : run_.steps.members("fault_classes")) {
      double count = 0;
      for (const double value : run_.steps.columns.at("fault_classes." + name))
        count += std::isfinite(value) ? value : 0;
      counted.emplace_back(-count, name);
    }
    std::ranges::sort(counted);
    std::vector<std::string> names;
    for (const auto& [count, name] : counted) names.push_back(name);
    return names;
  }

  Html failures() {
    const std::vector<std::string> names = classes();
    if (names.empty()) return {};
    const size_t shown = std::min(names.size(), kMostClasses + 1);
    std::vector<std::vector<double>> columns;
    for (size_t i = 0; i < names.size(); ++i) {
      std::vector<double> column = stack_column(run_, "fault_classes." + names[i]);
      if (i < shown)
        columns.push_back(std::move(column));
      else
        std::ranges::transform(column, columns.back(), columns.back().begin(), std::plus());
    }
    const auto points = thinned_stack(columns, kMostStackRows);
    Chart chart{.id = id("failures"),
                .title = "Failures by class, responses",
                .unit = Unit::kCount,
                .series = {},
                .marks = {}};
    for (size_t i = 0; i < shown; ++i)
      chart.series.push_back(
          series(i == kMostClasses ? "other" : readable_name(names[i]), static_cast<int>(i), points[i]));
    return keep(chart.id, draw_stack(chart, axis_));
  }

  Html histogram() {
    const ResponseTable& table = run_.responses;
    HistogramChart chart{.id = id("histogram"), .title = "Rewards of a step's responses", .columns = {}};
    double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
    std::vector<int64_t> rows;
    for (const ResponseEntry& response : table.responses) {
      if (rows.empty() || rows.back() != response.row) rows.push_back(response.row);
      if (response.is_masked) continue;
      low = std::min<double>(low, response.reward);
      high = std::max<double>(high, response.reward);
    }
    if (rows.empty() || low > high) return {};
    chart.low = std::min(std::floor(low * 2) / 2, 0.0);
    chart.high = std::max(std::ceil(high * 2 + 1e-9) / 2, chart.low + 1);
    const auto steps_a_column =
        std::max<int64_t>(1, (static_cast<int64_t>(rows.size()) + kHistogramColumns - 1) / kHistogramColumns);
    for (size_t i = 0; i < rows.size();) {
      HistogramChart::Column column{
          .first_row = rows[i], .last_row = rows[i], .counts = std::vector<int64_t>(kHistogramBins, 0)};
      const PhaseSpan& phase = run_.steps.phase_of(rows[i]);
      for (int64_t taken = 0; i < rows.size() && taken < steps_a_column && rows[i] < phase.end;
           ++i, ++taken) {
        column.last_row = rows[i];
        count(table, rows[i], chart, column.counts);
      }
      column.begin = axis_.end_of(phase.name, run_.steps.step[static_cast<size_t>(column.first_row)] - 1);
      column.end = axis_.end_of(phase.name, run_.steps.step[static_cast<size_t>(column.last_row)]);
      chart.columns.push_back(std::move(column));
    }
    return keep(chart.id, draw_histogram(chart, axis_));
  }

  static void count(const ResponseTable& table, int64_t row, const HistogramChart& chart,
                    std::vector<int64_t>& counts) {
    const auto [begin, end] = table.of_row(row);
    for (size_t i = begin; i < end; ++i) {
      if (table.responses[i].is_masked) continue;
      const double share = (table.responses[i].reward - chart.low) / (chart.high - chart.low);
      const auto bin = static_cast<size_t>(std::clamp(share * kHistogramBins, 0.0, kHistogramBins - 1.0));
      ++counts[bin];
    }
  }

  Html groups() {
    if (!run_.steps.has("groups")) return {};
    std::vector<double> teaching = stack_column(run_, "groups");
    const std::vector<double> equal = stack_column(run_, "zero_variance_groups"),
                              few = stack_column(run_, "too_few_groups");
    for (size_t row = 0; row < teaching.size(); ++row)
      teaching[row] = std::max(teaching[row] - equal[row] - few[row], 0.0);
    const auto points = thinned_stack({teaching, equal, few}, kMostStackRows);
    Chart chart{.id = id("groups"),
                .title = "Groups with and without variance",
                .unit = Unit::kCount,
                .series = {},
                .marks = {}};
    chart.series = {series("teach: rewards differ", 0, points[0]), series("all rewards equal", 4, points[1]),
                    series("fewer than two count", 7, points[2])};
    return keep(chart.id, draw_stack(chart, axis_));
  }

  const RunRecord& run_;
  int64_t number_;
  RunAxis axis_;
  SectionParts& parts_;
};

// Shares of the responses in the first and the last quarter of the steps.
Html movement_table(const RunRecord& run, nlohmann::json& data) {
  const ResponseTable& responses = run.responses;
  if (responses.responses.empty()) return {};
  std::vector<int64_t> rows;
  for (const ResponseEntry& response : responses.responses)
    if (rows.empty() || rows.back() != response.row) rows.push_back(response.row);
  const size_t quarter = std::max<size_t>(1, rows.size() / 4);
  const int64_t early = rows[quarter - 1], late = rows[rows.size() - quarter];
  struct Counts {
    int64_t whole = 0, first = 0, last = 0;
  };
  std::map<std::string, Counts> counts;
  Counts all;
  for (const ResponseEntry& response : responses.responses)
    for (Counts* each : {&counts[responses.verdict_of(response).outcome], &all}) {
      ++each->whole;
      each->first += response.row <= early;
      each->last += response.row >= late;
    }
  std::vector<std::pair<std::string, Counts>> ordered(counts.begin(), counts.end());
  std::ranges::stable_sort(ordered, std::ranges::greater(),
                           [](const auto& entry) { return entry.second.whole; });
  const auto share = [](int64_t count, int64_t of) {
    return of == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(of);
  };
  std::vector<std::vector<TableCell>> cells;
  for (const auto& [name, count] : ordered) {
    const double first = share(count.first, all.first), last = share(count.last, all.last),
                 change = 100 * (last - first);
    cells.push_back(
        {{outcome_badge(name)},
         number_cell(std::to_string(count.whole)),
         number_cell(figure_text(first, Unit::kShare)),
         number_cell(figure_text(last, Unit::kShare)),
         number_cell(concat(change > 0.05 ? "+" : "",
                            figure_text(std::round(10 * change) / 10, Unit::kNumber), " points"))});
    data[name] = {{"responses", count.whole}, {"first_quarter", first}, {"last_quarter", last}};
  }
  return element("h3", literal("Verdicts, first and last quarter of the steps")) +
         table("Shares of verdicts", {"verdict", "responses", "first quarter", "last quarter", "change"},
               cells);
}

// Where the reward fell most from one step to the next, and which failures became more there.
Html fall_table(const RunRecord& run, nlohmann::json& data) {
  std::vector<std::vector<TableCell>> rows;
  for (const RewardFall& fall : largest_falls(run.steps, kMostFalls)) {
    std::vector<std::pair<double, std::string>> grown;
    nlohmann::json failures = nlohmann::json::object();
    for (const auto& [name, change] : fall.failures) {
      failures[visible_text(name)] = change;
      if (change > 0) grown.emplace_back(-change, name);
    }
    std::ranges::sort(grown);
    std::string reasons;
    for (const auto& [change, name] : grown)
      reasons +=
          concat(reasons.empty() ? "" : ", ", readable_name(name), " +", figure_text(-change, Unit::kCount));
    rows.push_back({{element("span", {{"class", "step-name"}}, text(step_name(run.steps, fall.row)))},
                    number_cell(figure_text(fall.before, Unit::kNumber)),
                    number_cell(figure_text(fall.after, Unit::kNumber)),
                    number_cell(figure_text(fall.after - fall.before, Unit::kNumber)),
                    cell(reasons.empty() ? "–" : reasons)});
    data.push_back({{"before_row", fall.before_row},
                    {"row", fall.row},
                    {"before", fall.before},
                    {"after", fall.after},
                    {"failures", failures}});
  }
  if (rows.empty()) return {};
  return element("h3", literal("Largest falls of the mean reward from one step to the next")) +
         table("Falls of the reward", {"step", "before", "after", "change", "more failures"}, rows);
}

// Responses that were better than the others of their groups.
Html advantage_table(const RunRecord& run, nlohmann::json& data) {
  std::vector<std::vector<TableCell>> rows;
  for (const size_t index : largest_advantages(run.responses, kMostAdvantages)) {
    const ResponseEntry& r = run.responses.responses[index];
    if (r.advantage <= 0) break;
    const VerdictFigures& verdict = run.responses.verdict_of(r);
    rows.push_back({{element("span", {{"class", "step-name"}}, text(step_name(run.steps, r.row)))},
                    cell(run.responses.task_of(r)),
                    number_cell(concat(r.group, ", ", r.sample)),
                    {outcome_badge(verdict.outcome)},
                    number_cell(figure_text(r.reward, Unit::kNumber)),
                    number_cell(figure_text(r.advantage, Unit::kNumber))});
    data.push_back({{"row", r.row},
                    {"group", r.group},
                    {"sample", r.sample},
                    {"task", visible_text(run.responses.task_of(r))},
                    {"reward", r.reward},
                    {"advantage", r.advantage}});
  }
  if (rows.empty()) return {};
  return element("h3", literal("Responses with the largest advantage over their group")) +
         table("Largest advantages", {"step", "task", "group, sample", "verdict", "reward", "advantage"},
               rows);
}

}  // namespace

SectionParts reward_section(const std::vector<RunRecord>& runs, const RunAxis& axis) {
  SectionParts parts;
  for (const RunRecord& run : runs) {
    Html content = RewardCharts(runs, run, axis, parts).grid();
    nlohmann::json outcomes = nlohmann::json::object();
    content += movement_table(run, outcomes);
    nlohmann::json falls = nlohmann::json::array(), advantages = nlohmann::json::array();
    content += fall_table(run, falls) + advantage_table(run, advantages);
    parts.data["falls"].push_back(std::move(falls));
    parts.data["largest_advantages"].push_back(std::move(advantages));
    parts.data["outcomes"].push_back(std::move(outcomes));
    if (content.empty()) continue;
    if (runs.size() > 1) parts.markup += element("h3", text(run.name));
    parts.markup += content;
  }
  if (parts.markup.empty())
    parts.markup = element("p", {{"class", "empty"}}, literal("No step of reinforcement has been recorded."));
  return parts;
}

}  // namespace bicrl::report

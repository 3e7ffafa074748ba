// What a run was, how it went and what it cost.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "common/clock.h"
#include "common/error.h"
#include "report/page/charts.h"
#include "report/page/sections.h"

namespace bicrl::report {
namespace {

constexpr size_t kMostTimeRows = 440;
constexpr const char* kStart = "start";  // the evaluation before the first step

double sum_of(const StepTable& steps, const std::string& name) {
  double sum = 0;
  if (const auto column = steps.columns.find(name); column != steps.columns.end())
    for (const double value : column->second) sum += std::isfinite(value) ? value : 0;
  return sum;
}

Html tile(const std::string& name, const std::string& value, const std::string& note) {
  return element("div", {{"class", "tile"}},
                 element("dt", text(name)) + element("dd", {{"class", "figure"}}, text(value)) +
                     element("dd", {{"class", "note"}}, text(note)));
}

// First and last evaluation of the plain kind; null where there are fewer than one.
std::pair<const EvaluationEntry*, const EvaluationEntry*> ends_of(const RunRecord& run) {
  const EvaluationEntry *first = nullptr, *last = nullptr;
  for (const EvaluationEntry& evaluation : run.evaluations) {
    if (evaluation.is_variant) continue;
    if (!first && evaluation.step == 0) first = &evaluation;  // not within the warm-up
    last = &evaluation;
  }
  return {first ? first : last, last};
}

Html tiles_of(const RunRecord& run) {
  Html tiles;
  const auto change = [&](const char* name, Estimate first, Estimate last, Unit unit,
                          const std::string& since) {
    if (last.is_known)
      tiles += tile(name, figure_text(last.value, unit),
                    concat("95 % interval ", interval_text(last, unit),
                           first.is_known ? concat("; ", figure_text(first.value, unit), " ", since) : ""));
  };
  const auto [first, last] = ends_of(run);
  if (last) {
    const std::string since =
        first->name == kStart ? "at the start" : concat("after ", readable_name(first->phase));
    change("Correct, held out", first->correct_rate(), last->correct_rate(), Unit::kShare, since);
    change("Speed-up, held out", first->geomean_speedup(), last->geomean_speedup(), Unit::kFactor, since);
    change("Faster than eager", first->fast_1_rate(), last->fast_1_rate(), Unit::kShare, since);
  }
  if (!run.kernels.empty())
    tiles += tile("Fastest kernel", figure_text(run.kernels[0].speedup, Unit::kFactor),
                  concat(run.kernels[0].task, ", ", step_name(run.steps, run.kernels[0].found.row)));
  if (run.steps.rows() > 0)
    tiles += tile("Time in steps", clock_text(sum_of(run.steps, "step_seconds")),
                  concat(run.steps.rows(), " steps, ", run.steps.phases.size(),
                         run.steps.phases.size() == 1 ? " phase" : " phases"));
  return tiles.empty() ? tiles : element("dl", {{"class", "tiles"}}, tiles);
}

Html notices_of(const RunRecord& run, bool is_named) {
  Html items;
  for (const std::string& notice : run.notices)
    items += element("li", text(is_named ? run.name + ": " + notice : notice));
  return items;
}

TableCell estimate_cell(const Estimate& estimate, Unit unit) {
  if (!estimate.is_known) return number_cell("–");
  return {element("span", {{"class", "main"}}, text(figure_text(estimate.value, unit))) +
              element("span", {{"class", "interval"}}, text(interval_text(estimate, unit))),
          true};
}

nlohmann::json estimate_json(const Estimate& estimate) {
  if (!estimate.is_known) return nullptr;
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

nlohmann::json evaluation_json(const EvaluationEntry& e) {
  return {{"name", e.name},
          {"phase", e.phase},
          {"step", e.step},
          {"row", e.run_row},
          {"responses", e.responses},
          {"judged", e.judged},
          {"correct", estimate_json(e.correct_rate())},
          {"compiled", estimate_json(e.compile_rate())},
          {"speedup", estimate_json(e.geomean_speedup())},
          {"fast_1", estimate_json(e.fast_1_rate())},
          {"fast_2", estimate_json(e.fast_2_rate())},
          {"reward", estimate_json(e.reward)},
          {"novel", e.novel},
          {"outcomes", e.outcomes}};
}

// Within a phase only its newest evaluation is a row: the curves have the others.
bool is_in_table(const RunRecord& run, size_t index) {
  const EvaluationEntry& evaluation = run.evaluations[index];
  return evaluation.step == 0 ||
         std::none_of(run.evaluations.begin() + static_cast<ptrdiff_t>(index) + 1, run.evaluations.end(),
                      [&](const EvaluationEntry& later) { return later.phase == evaluation.phase; });
}

Html evaluation_table(const std::vector<RunRecord>& runs) {
  std::vector<std::vector<TableCell>> rows;
  for (const RunRecord& run : runs)
    for (size_t i = 0; i < run.evaluations.size(); ++i) {
      const EvaluationEntry& e = run.evaluations[i];
      if (!is_in_table(run, i)) continue;
      rows.push_back(
          {cell(runs.size() > 1 ? concat(run.name, ": ", e.name) : e.name), number_cell(judged_text(e)),
           estimate_cell(e.compile_rate(), Unit::kShare), estimate_cell(e.correct_rate(), Unit::kShare),
           estimate_cell(e.geomean_speedup(), Unit::kFactor), estimate_cell(e.fast_1_rate(), Unit::kShare),
           estimate_cell(e.fast_2_rate(), Unit::kShare), estimate_cell(e.reward, Unit::kNumber),
           estimate_cell(e.novel_rate(), Unit::kShare)});
    }
  if (rows.empty()) return {};
  return element("h3", literal("Before and after, on held-out tasks")) +
         element(
             "p", {{"class", "lead"}},
             literal(
                 "Shares of the responses whose program was judged, and of tasks where the best of several "
                 "samples counts. Below each figure its 95&nbsp;% interval. fast₁ and fast₂ are shares that "
                 "are correct and "
                 "more than once, or twice, as fast as eager PyTorch.")) +
         table("Evaluations with 95 % intervals",
               {"after", "judged", "compile", "correct", "speed-up", "fast₁", "fast₂", "reward",
                "novel technique"},
               rows);
}

struct TimePart {
  const char* column;
  const char* label;
};
constexpr TimePart kTimeParts[] = {{"rollout_seconds", "generating"},
                                   {"verify_wait_seconds", "waiting for verdicts"},
                                   {"train_seconds", "training"},
                                   {"checkpoint_stall_seconds", "waiting for checkpoints"}};

constexpr const char* kOtherTime = "other";

// The parts of each step's time in their order, and behind them what is left of the step. Parts that overlap,
// with a rollout ahead, are together longer than the step: then nothing is left.
std::vector<std::vector<double>> time_columns(const StepTable& steps, const std::vector<double>& whole) {
  std::vector<std::vector<double>> columns;
  std::vector<double> rest = whole;
  for (const TimePart& part : kTimeParts) {
    const auto found = steps.columns.find(part.column);
    std::vector<double> column(whole.size(), std::nan(""));
    for (size_t row = 0; row < whole.size(); ++row) {
      if (!std::isfinite(whole[row])) continue;
      const double value = found == steps.columns.end() ? 0 : found->second[row];
      column[row] = std::isfinite(value) ? std::max(value, 0.0) : 0;
      rest[row] = std::max(rest[row] - column[row], 0.0);
    }
    columns.push_back(std::move(column));
  }
  columns.push_back(std::move(rest));
  return columns;
}

// Of whole phases, thinned nowhere.
Html time_table(const RunRecord& run, nlohmann::json& data) {
  const auto whole = run.steps.columns.find("step_seconds");
  if (whole == run.steps.columns.end()) return {};
  const std::vector<std::vector<double>> columns = time_columns(run.steps, whole->second);
  std::vector<std::vector<TableCell>> rows;
  for (const PhaseSpan& phase : run.steps.phases) {
    const auto sum = [&](const std::vector<double>& column) {
      double seconds = 0;
      for (int64_t row = phase.begin; row < phase.end; ++row)
        if (const double value = column[static_cast<size_t>(row)]; std::isfinite(value)) seconds += value;
      return seconds;
    };
    const double steps = sum(whole->second);
    if (steps <= 0) continue;
    nlohmann::json parts = nlohmann::json::object();
    std::vector<TableCell> cells = {cell(readable_name(phase.name)), number_cell(clock_text(steps))};
    for (size_t i = 0; i < columns.size(); ++i) {
      const double seconds = sum(columns[i]);
      parts[i < std::size(kTimeParts) ? kTimeParts[i].label : kOtherTime] = seconds;
      cells.push_back(
          {element("span", {{"class", "main"}}, text(figure_text(seconds / steps, Unit::kShare))) +
               element("span", {{"class", "interval"}}, text(clock_text(seconds))),
           true});
    }
    rows.push_back(std::move(cells));
    data.push_back({{"phase", visible_text(phase.name)}, {"step_seconds", steps}, {"parts", parts}});
  }
  if (rows.empty()) return {};
  std::vector<std::string> heads = {"phase", "all steps"};
  for (const TimePart& part : kTimeParts) heads.push_back(part.label);
  heads.push_back(kOtherTime);
  return table("Time of all steps of a phase", heads, rows);
}

void add_time_stack(const RunRecord& run, int64_t number, bool is_named, const RunAxis& axis, Html& grid,
                    nlohmann::json& charts) {
  const auto whole = run.steps.columns.find("step_seconds");
  if (whole == run.steps.columns.end()) return;
  const auto points = thinned_stack(time_columns(run.steps, whole->second), kMostTimeRows);
  Chart chart{.id = concat("time-", number),
              .title = is_named ? concat("Where time goes: ", run.name) : "Where time goes",
              .unit = Unit::kSeconds,
              .series = {},
              .marks = {}};
  const std::vector<double> x = places_of(run, axis, points[0]);
  for (size_t i = 0; i < points.size(); ++i) {
    const bool is_other = i == std::size(kTimeParts);
    chart.series.push_back({.label = is_other ? kOtherTime : kTimeParts[i].label,
                            .colour = is_other ? 7 : static_cast<int>(i),
                            .run = number,
                            .points = points[i],
                            .x = x});
  }
  DrawnChart drawn = draw_stack(chart, axis);
  grid += drawn.picture;
  charts[chart.id] = std::move(drawn.data);
}

const std::vector<CurveChoice>& main_curves() {
  static const std::vector<CurveChoice> curves = {
      {.id = "reward_mean",
       .column = "reward_mean",
       .title = "Reward",
       .held_out = [](const EvaluationEntry& e) { return e.reward; }},
      {.id = "correct_rate",
       .column = "correct_rate",
       .title = "Correct",
       .held_out = [](const EvaluationEntry& e) { return e.correct_rate(); }},
      {.id = "geomean_speedup",
       .column = "geomean_speedup",
       .title = "Speed-up over eager PyTorch",
       .held_out = [](const EvaluationEntry& e) { return e.geomean_speedup(); }},
      {.id = "fast_1",
       .column = "fast_1",
       .title = "Correct and faster than eager",
       .held_out = [](const EvaluationEntry& e) { return e.fast_1_rate(); }},
      {.id = "compile_rate",
       .column = "compile_rate",
       .title = "Compile",
       .held_out = [](const EvaluationEntry& e) { return e.compile_rate(); }},
      {.id = "entropy", .column = "entropy", .title = "Entropy", .from_zero = true},
      {.id = "kl", .column = "kl", .title = "KL divergence", .from_zero = true},
      {.id = "loss", .column = "loss", .title = "Loss"},
      {.id = "grad_norm", .column = "grad_norm", .title = "Gradient norm", .from_zero = true},
  };
  return curves;
}

// The evaluations that the page shows: those of its table and those on its curves.
nlohmann::json shown_evaluations(const RunRecord& run) {
  std::set<size_t> shown;
  for (size_t i = 0; i < run.evaluations.size(); ++i)
    if (is_in_table(run, i)) shown.insert(i);
  for (const CurveChoice& curve : main_curves())
    for (const size_t index : evaluations_on(run, curve)) shown.insert(index);
  nlohmann::json evaluations = nlohmann::json::array();
  for (const size_t index : shown) evaluations.push_back(evaluation_json(run.evaluations[index]));
  return evaluations;
}

Html other_curves(const std::vector<RunRecord>& runs, const RunAxis& axis, nlohmann::json& charts) {
  std::set<std::string> names;
  for (const RunRecord& run : runs)
    for (const auto& [name, column] : run.steps.columns)
      if (name.find('.') == std::string::npos) names.insert(name);
  for (const CurveChoice& curve : main_curves()) names.erase(curve.column);
  for (const char* shown : {"memory_peak_bytes", "tokens_per_second", "responses", "groups"})
    names.erase(shown);
  Html grid;
  for (const std::string& name : names) {
    // A figure that never changes is no curve.
    const bool changes = std::ranges::any_of(runs, [&](const RunRecord& run) {
      const auto column = run.steps.columns.find(name);
      if (column == run.steps.columns.end()) return false;
      std::set<double> values;
      for (const double value : column->second)
        if (std::isfinite(value) && values.size() < 2) values.insert(value);
      return values.size() > 1;
    });
    if (changes) add_curve(runs, axis, {.id = name, .column = name, .title = title_of(name)}, grid, charts);
  }
  if (grid.empty()) return grid;
  return element("details", element("summary", literal("All other figures of a step")) +
                                element("div", {{"class", "grid"}}, grid));
}

// Memory as the kernel writes it, "24684096 kB", is shown with a unit of its size.
std::string fact_text(const std::string& key, const std::string& value) {
  if (!key.ends_with("memory") || !value.ends_with(" kB")) return value;
  const double kibibytes = std::strtod(value.c_str(), nullptr);
  return kibibytes > 0 ? figure_text(1024 * kibibytes, Unit::kBytes) : value;
}

Html configuration_of(const RunRecord& run) {
  Html facts;
  facts += element("dt", literal("folder")) + element("dd", text(run.folder.string()));
  for (const auto& [key, value] : run.facts)
    facts += element("dt", text(key)) + element("dd", text(fact_text(key, value)));
  for (const auto& [key, value] : run.steps.texts)
    if (key != "phase" && !value.empty()) facts += element("dt", text(key)) + element("dd", text(value));
  Html content = element("dl", {{"class", "facts"}}, facts);
  for (const auto& [name, yaml] :
       {std::pair{"config.yaml", &run.config_yaml}, {"reward.yaml", &run.reward_yaml}})
    if (!yaml->empty())
      content += element("details", element("summary", element("code", text(name))) +
                                        element("pre", {{"class", "yaml"}, {"tabindex", "0"}}, text(*yaml)));
  return element("div", {{"class", "run-facts"}}, element("h4", text(run.name)) + content);
}

}  // namespace

SectionParts overview_section(const std::vector<RunRecord>& runs, const RunAxis& axis) {
  SectionParts parts;
  Html notices, grid, cost, configuration;
  for (const RunRecord& run : runs) {
    if (runs.size() > 1) parts.markup += element("h3", text(run.name));
    parts.markup += tiles_of(run);
    notices += notices_of(run, runs.size() > 1);
    configuration += configuration_of(run);
    parts.data["evaluations"].push_back(shown_evaluations(run));
    parts.data["notices"].push_back(run.notices);
  }
  if (!notices.empty())
    parts.markup += element("ul", {{"class", "notices"}, {"aria-label", "Notices"}}, notices);
  for (const CurveChoice& curve : main_curves()) add_curve(runs, axis, curve, grid, parts.charts);
  if (!grid.empty())
    parts.markup +=
        element("h3", literal("Curves")) +
        element(
            "p", {{"class", "lead"}},
            literal("Each phase's steps from left to right. Diamonds are evaluations on held-out tasks, with "
                    "their 95&nbsp;% intervals. Choose a point to open the nearest group of responses.")) +
        element("div", {{"class", "grid"}}, grid);
  parts.markup += evaluation_table(runs);
  for (const RunRecord& run : runs)
    add_time_stack(run, &run - runs.data(), runs.size() > 1, axis, cost, parts.charts);
  add_curve(runs, axis,
            {.id = "memory_peak_bytes",
             .column = "memory_peak_bytes",
             .title = "Memory, largest rank",
             .from_zero = true},
            cost, parts.charts);
  add_curve(runs, axis,
            {.id = "tokens_per_second",
             .column = "tokens_per_second",
             .title = "Tokens generated, whole step",
             .from_zero = true},
            cost, parts.charts);
  Html times;
  for (const RunRecord& run : runs) {
    nlohmann::json phases = nlohmann::json::array();
    const Html its_table = time_table(run, phases);
    if (runs.size() > 1 && !its_table.empty()) times += element("h4", text(run.name));
    times += its_table;
    parts.data["time"].push_back(std::move(phases));
  }
  if (!cost.empty())
    parts.markup += element("h3", literal("Time and memory")) + element("div", {{"class", "grid"}}, cost) +
                    element("div", {{"class", "totals"}}, times);
  parts.markup += other_curves(runs, axis, parts.charts);
  parts.markup += element("h3", literal("Configuration")) + configuration;
  return parts;
}

}  // namespace bicrl::report

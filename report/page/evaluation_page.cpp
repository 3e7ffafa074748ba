#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "report/line_diff.h"
#include "report/page/figure_text.h"
#include "report/page/page.h"
#include "report/page/program_listing.h"
#include "report/page/sections.h"

namespace bicrl::report {
namespace {

constexpr size_t kMostTasks = 500;
constexpr size_t kMostPrograms = 60;

Html figures_of(const EvaluationEntry& e) {
  std::vector<std::vector<TableCell>> rows;
  const auto add = [&](const char* name, const Estimate& estimate, Unit unit) {
    if (estimate.is_known)
      rows.push_back({cell(name), number_cell(figure_text(estimate.value, unit)),
                      number_cell(interval_text(estimate, unit))});
  };
  add("compile", e.compile_rate(), Unit::kShare);
  add("correct", e.correct_rate(), Unit::kShare);
  add("speed-up over eager PyTorch", e.geomean_speedup(), Unit::kFactor);
  add("correct and faster than eager (fast₁)", e.fast_1_rate(), Unit::kShare);
  add("correct and twice as fast (fast₂)", e.fast_2_rate(), Unit::kShare);
  add("novel technique", e.novel_rate(), Unit::kShare);
  add("truncated", e.truncated_rate(), Unit::kShare);
  std::vector<std::vector<TableCell>> outcomes;
  for (const auto& [name, count] : e.outcomes)
    outcomes.push_back({{outcome_badge(name)},
                        number_cell(std::to_string(count)),
                        number_cell(figure_text(share_estimate(count, e.responses).value, Unit::kShare))});
  return table("Figures with 95 % intervals", {"figure", "value", "95 % interval"}, rows) +
         element("h3", literal("Verdicts")) + table("Verdicts", {"verdict", "responses", "share"}, outcomes);
}

Html programs_of(const std::vector<const EvaluatedProgram*>& programs) {
  Html all;
  for (size_t i = 0; i < std::min(kMostPrograms, programs.size()); ++i) {
    const EvaluatedProgram& p = *programs[i];
    if (p.program.empty()) continue;
    Html head = element("span", {{"class", "name"}}, text(concat(p.task, ", sample ", p.sample))) +
                outcome_badge(p.outcome);
    if (p.speedup > 0)
      head += element("span", {{"class", "speedup"}}, text(figure_text(p.speedup, Unit::kFactor)));
    all += element("details", {{"class", "kernel"}},
                   element("summary", head) +
                       program_listing({.lines = lines_of(p.program), .is_generated = {}, .differs = {}},
                                       concat("Program of ", p.task), false));
  }
  return all;
}

Html task_table(const std::vector<const EvaluatedProgram*>& programs) {
  std::vector<std::vector<TableCell>> rows;
  for (size_t i = 0; i < std::min(kMostTasks, programs.size()); ++i) {
    const EvaluatedProgram& p = *programs[i];
    rows.push_back(
        {cell(p.task),
         number_cell(std::to_string(p.sample)),
         {outcome_badge(p.outcome)},
         number_cell(p.speedup > 0 ? figure_text(p.speedup, Unit::kFactor) : "–"),
         number_cell(p.candidate_ms > 0 ? figure_text(p.candidate_ms, Unit::kMilliseconds) : "–"),
         cell(p.bound_by.empty() ? "–" : p.bound_by),
         {element("span", {{"class", "technique"}},
                  text(p.technique.empty() ? "–" : p.technique + (p.is_novel ? " (novel)" : "")))}});
  }
  return element("div", {{"class", "tall"}},
                 table("Responses, the fastest first",
                       {"task", "sample", "verdict", "speed-up", "time", "bound by", "technique"}, rows));
}

std::string first_words(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Rows of a list of objects, by these members.
Html list_table(const nlohmann::json& list, const std::string& caption,
                const std::vector<std::string>& members) {
  std::vector<std::vector<TableCell>> rows;
  if (list.is_array())
    for (const nlohmann::json& item : list) {
      std::vector<TableCell> row;
      for (const std::string& member : members) {
        const nlohmann::json value =
            item.is_object() ? item.value(member, nlohmann::json()) : nlohmann::json();
        row.push_back({text(value.is_null() ? "–" : first_words(value)), value.is_number()});
      }
      rows.push_back(std::move(row));
    }
  return rows.empty() ? Html() : element("h3", text(caption)) + table(caption, members, rows);
}

Html step_table_of(const nlohmann::json& steps) {
  std::vector<std::vector<TableCell>> rows;
  if (steps.is_array())
    for (const nlohmann::json& step : steps) {
      std::string dropped;
      if (step.is_object() && step.contains("dropped") && step["dropped"].is_object())
        for (const auto& [reason, count] : step["dropped"].items())
          dropped += concat(dropped.empty() ? "" : "; ", reason, ": ", first_words(count));
      rows.push_back({cell(text_or(step, "step", "?")), number_cell(concat(number_or(step, "in", 0))),
                      number_cell(concat(number_or(step, "out", 0))), cell(dropped.empty() ? "–" : dropped)});
    }
  return table("Records through the steps", {"step", "in", "out", "dropped, and why"}, rows);
}

Html distribution_tables(const nlohmann::json& card) {
  std::vector<std::vector<TableCell>> classes, quantiles;
  if (card.contains("classes") && card["classes"].is_object())
    for (const auto& [name, counts] : card["classes"].items()) {
      std::string values;
      if (counts.is_object())
        for (const auto& [value, count] : counts.items())
          values +=
              concat(values.empty() ? "" : ", ", value.empty() ? "(none)" : value, ": ", first_words(count));
      classes.push_back({cell(name), cell(values)});
    }
  if (card.contains("quantiles") && card["quantiles"].is_object())
    for (const auto& [name, q] : card["quantiles"].items()) {
      std::vector<TableCell> row = {cell(name)};
      for (const char* key : {"records", "least", "p10", "p50", "p90", "most"})
        row.push_back(number_cell(figure_text(number_or(q, key, 0), Unit::kNumber)));
      quantiles.push_back(std::move(row));
    }
  Html all = table("Values and how often each occurs", {"value", "records"}, classes);
  if (!quantiles.empty())
    all += element("h3", literal("Quantiles")) +
           table("Quantiles", {"value", "records", "least", "p10", "p50", "p90", "most"}, quantiles);
  return all;
}

// The first records of the last step's output.
Html records_of(const std::filesystem::path& folder, size_t most) {
  std::error_code failure;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "records", failure))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  if (files.empty()) return {};
  Html all;
  size_t taken = 0;
  for_each_object(*std::ranges::max_element(files), [&](const nlohmann::json& record) {
    if (++taken > most) return;
    const nlohmann::json answer = record.value("answer", nlohmann::json());
    const VerdictFigures verdict = verdict_figures(record.value("verdict", nlohmann::json()));
    Html head = element("span", {{"class", "name"}}, text(text_or(record, "id", "?"))) +
                outcome_badge(verdict.outcome);
    if (verdict.speedup > 0)
      head += element("span", {{"class", "speedup"}}, text(figure_text(verdict.speedup, Unit::kFactor)));
    Html body = element("h4", literal("Task")) +
                program_listing(
                    {.lines = lines_of(text_or(record, "pytorch_code")), .is_generated = {}, .differs = {}},
                    "Task", false);
    if (const std::string program = text_or(answer, "program"); !program.empty())
      body +=
          element("h4", literal("Answer")) +
          program_listing({.lines = lines_of(program), .is_generated = {}, .differs = {}}, "Answer", false);
    all += element("details", {{"class", "kernel"}}, element("summary", head) + body);
  });
  return all;
}

}  // namespace

std::string evaluation_page(const EvaluationEntry& evaluation) {
  std::vector<const EvaluatedProgram*> fastest, failed;
  for (const EvaluatedProgram& program : evaluation.programs)
    (program.is_correct ? fastest : failed).push_back(&program);
  std::ranges::stable_sort(fastest, std::ranges::greater(), &EvaluatedProgram::speedup);
  std::vector<const EvaluatedProgram*> all = fastest;
  all.insert(all.end(), failed.begin(), failed.end());
  Html heading =
      element("p", text(concat(evaluation.responses, " responses; judged: ", judged_text(evaluation))));
  if (evaluation.lines.broken > 0 || evaluation.lines.is_cut_off)
    heading += element("p", {{"class", "notices"}},
                       text(concat("The file has ", evaluation.lines.broken, " unreadable lines",
                                   evaluation.lines.is_cut_off ? ", and its end is missing." : ".")));
  nlohmann::json responses = nlohmann::json::array();
  for (const EvaluatedProgram* p : all)
    responses.push_back({{"task", visible_text(p->task)},
                         {"sample", p->sample},
                         {"outcome", visible_text(p->outcome)},
                         {"speedup", p->speedup},
                         {"technique", visible_text(p->technique)}});
  return assemble_page({.title = evaluation.name,
                        .heading = heading,
                        .sections = {{"overview", "Figures", figures_of(evaluation)},
                                     {"tasks", "Responses", task_table(all)},
                                     {"kernels", "Fastest programs", programs_of(fastest)},
                                     {"failures", "Failures", programs_of(failed)}},
                        .data = {{"kind", "evaluation"}, {"responses", responses}}});
}

std::string curated_page(const std::filesystem::path& folder) {
  const nlohmann::json card = object_of(folder / "card.json");
  if (!card.is_object())
    throw InputError(concat((folder / "card.json").string(), ": is no data card of `bicrl curate`"));
  std::error_code failure;
  const std::string name = std::filesystem::weakly_canonical(folder, failure).filename().string();
  const Html sources = list_table(card.value("sources", nlohmann::json()), "Sources",
                                  {"source", "form", "licence", "entries", "hash"}) +
                       list_table(card.value("files", nlohmann::json()), "Files",
                                  {"file", "form", "records", "left_out", "bytes", "hash"});
  return assemble_page(
      {.title = name,
       .heading = element("p", text(concat(number_or(card, "records", 0), " records"))),
       .sections = {{"overview", "Steps", step_table_of(card.value("steps", nlohmann::json()))},
                    {"sources", "Sources and files", sources},
                    {"distributions", "Distributions", distribution_tables(card)},
                    {"records", "Records", records_of(folder, 30)}},
       .data = {{"kind", "curated"}, {"card", card}}});
}

}  // namespace bicrl::report

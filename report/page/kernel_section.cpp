// The fastest program of each task.
#include <algorithm>
#include <limits>

#include "common/error.h"
#include "report/line_diff.h"
#include "report/page/figure_text.h"
#include "report/page/program_listing.h"
#include "report/page/sections.h"
#include "report/page/text_budget.h"

namespace bicrl::report {
namespace {

constexpr size_t kMostKernelRows = 400;
constexpr size_t kMostKernelData = 1500;
constexpr size_t kMostKernelPrograms = 60;
constexpr size_t kMostProgramBytes = 400'000;  // of all of them, as markup

// Speed-ups as bars beside their numbers, against the largest one.
Html speedup_bar(double speedup, double largest) {
  const double width = largest > 0 ? 60 * speedup / largest : 0;
  return element("span", {{"class", "main"}}, text(figure_text(speedup, Unit::kFactor))) +
         element("svg", {{"class", "spark"}, {"viewBox", "0 0 60 6"}, {"aria-hidden", "true"}},
                 element("rect", {{"width", "60"}, {"height", "6"}, {"class", "track"}}) +
                     element("rect", {{"width", concat(width)}, {"height", "6"}, {"class", "f0"}}));
}

Html program_of(const RunRecord& run, const BestKernel& kernel,
                size_t most_bytes = std::numeric_limits<size_t>::max()) {
  const auto kept = run.kept.responses.find(kernel.found);
  if (kept == run.kept.responses.end()) return {};
  const ProgramLines program{.lines = lines_of(kept->second.text), .is_generated = {}, .differs = {}};
  return element("details", {{"class", "kernel"}},
                 element("summary", element("span", {{"class", "name"}}, text(kernel.task)) +
                                        element("span", {{"class", "speedup"}},
                                                text(figure_text(kernel.speedup, Unit::kFactor))) +
                                        element("span", {{"class", "task"}}, text(kernel.technique))) +
                     program_listing(program, concat("Fastest program of ", kernel.task), false, most_bytes));
}

// The limit of each program of the page.
size_t limit_of_programs(const std::vector<RunRecord>& runs) {
  std::vector<size_t> sizes;
  for (const RunRecord& run : runs) {
    size_t taken = 0;
    for (const BestKernel& kernel : run.kernels) {
      if (taken == kMostKernelPrograms) break;
      const Html program = program_of(run, kernel);
      if (program.empty()) continue;
      sizes.push_back(program.markup().size());
      ++taken;
    }
  }
  return common_limit(std::move(sizes), kMostProgramBytes);
}

nlohmann::json kernel_json(const RunRecord& run, const BestKernel& k) {
  return {{"task", visible_text(k.task)},
          {"row", k.found.row},
          {"phase", run.steps.phase_of(k.found.row).name},
          {"step", run.steps.step[static_cast<size_t>(k.found.row)]},
          {"group", k.found.group},
          {"sample", k.found.sample},
          {"speedup", k.speedup},
          {"first_speedup", k.first_speedup},
          {"candidate_ms", k.candidate_ms},
          {"eager_ms", k.eager_ms},
          {"clock", k.clock},
          {"bound_by", visible_text(k.bound_by)},
          {"technique", visible_text(k.technique)},
          {"lineage", k.lineage},
          {"correct", k.correct},
          {"responses", k.responses}};
}

}  // namespace

SectionParts kernel_section(const std::vector<RunRecord>& runs) {
  SectionParts parts;
  const size_t most_bytes = limit_of_programs(runs);
  for (const RunRecord& run : runs) {
    nlohmann::json kernels = nlohmann::json::array();
    std::vector<std::vector<TableCell>> rows;
    Html programs;
    size_t with_program = 0;
    for (const BestKernel& k : run.kernels) {
      if (kernels.size() == kMostKernelData) break;
      kernels.push_back(kernel_json(run, k));
      if (rows.size() == kMostKernelRows) continue;
      rows.push_back(
          {cell(k.task),
           {speedup_bar(k.speedup, run.kernels[0].speedup), true},
           number_cell(figure_text(k.first_speedup, Unit::kFactor)),
           number_cell(figure_text(k.candidate_ms, Unit::kMilliseconds)),
           number_cell(figure_text(k.eager_ms, Unit::kMilliseconds)),
           {element("span", {{"class", "step-name"}}, text(step_name(run.steps, k.found.row)))},
           cell(k.lineage),
           number_cell(concat(k.correct, " of ", k.responses)),
           cell(k.bound_by.empty() ? "–" : k.bound_by),
           {element("span", {{"class", "technique"}}, text(k.technique.empty() ? "–" : k.technique))}});
      Html program = with_program < kMostKernelPrograms ? program_of(run, k, most_bytes) : Html();
      with_program += !program.empty();
      programs += program;
    }
    parts.data["kernels"].push_back(std::move(kernels));
    if (rows.empty()) continue;
    if (runs.size() > 1) parts.markup += element("h3", text(run.name));
    const std::string clock = run.kernels[0].clock == "model" ? "Times are modelled, not measured. " : "";
    parts.markup +=
        element("p", {{"class", "lead"}},
                text(concat(clock, "The fastest correct program of each of ", run.kernels.size(),
                            " solved tasks. Lineage: sampled from the policy, sampled after an update had "
                            "imitated the task's best, or the repair of a failed program.")));
    parts.markup += element("div", {{"class", "tall"}},
                            table("Fastest programs",
                                  {"task", "speed-up", "first correct", "time", "eager", "found at",
                                   "lineage", "correct", "bound by", "technique"},
                                  rows));
    if (!programs.empty()) parts.markup += element("h3", literal("Their programs")) + programs;
  }
  if (parts.markup.empty())
    parts.markup =
        element("p", {{"class", "empty"}}, literal("No correct program with a time has been recorded."));
  return parts;
}

}  // namespace bicrl::report

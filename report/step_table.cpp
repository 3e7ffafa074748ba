#include "report/step_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace bicrl::report {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMostColumns = 400;  // of a damaged file; a run has less than a hundred

void set_number(StepTable& table, const std::string& name, double value) {
  if (!std::isfinite(value)) return;
  if (!table.columns.contains(name) && table.columns.size() >= kMostColumns) return;
  std::vector<double>& column = table.columns[name];
  column.resize(table.step.size(), kNoNumber);
  column.back() = value;
}

void set_values(StepTable& table, const nlohmann::json& entry, const std::string& prefix, int depth) {
  for (const auto& [key, value] : entry.items()) {
    const std::string name = prefix + key;
    if (value.is_number())
      set_number(table, name, value.get<double>());
    else if (value.is_string() && depth == 0)
      table.texts[key] = value.get<std::string>();
    else if (value.is_object() && depth < 2)
      set_values(table, value, name + ".", depth + 1);
  }
}

void drop_rows_from(StepTable& table, int64_t row) {
  table.step.resize(static_cast<size_t>(row));
  for (auto& [name, column] : table.columns) column.resize(std::min(column.size(), static_cast<size_t>(row)));
  while (!table.phases.empty() && table.phases.back().begin >= row) table.phases.pop_back();
  if (!table.phases.empty()) table.phases.back().end = row;
}

}  // namespace

const PhaseSpan& StepTable::phase_of(int64_t row) const {
  const auto found = std::ranges::find_if(phases, [&](const PhaseSpan& p) { return row < p.end; });
  BICRL_CHECK(found != phases.end(), "row ", row);
  return *found;
}

int64_t StepTable::row_of(const std::string& phase, int64_t step_in_phase) const {
  for (const PhaseSpan& span : phases)
    if (span.name == phase)
      for (int64_t row = span.begin; row < span.end; ++row)
        if (step[static_cast<size_t>(row)] == step_in_phase) return row;
  return -1;
}

std::vector<std::string> StepTable::members(const std::string& object) const {
  std::vector<std::string> names;
  const std::string prefix = object + ".";
  for (auto at = columns.lower_bound(prefix); at != columns.end() && at->first.starts_with(prefix); ++at)
    names.push_back(at->first.substr(prefix.size()));
  return names;
}

StepTable read_step_table(const std::filesystem::path& file) {
  StepTable table;
  table.lines = for_each_object(file, [&](const nlohmann::json& entry) {
    const std::string phase = text_or(entry, "phase", "");
    const double number = number_or(entry, "step", kNoNumber);
    if (phase.empty() || !std::isfinite(number) || number < 0 || number > 1e15) return;
    const auto step = static_cast<int64_t>(number);
    if (!table.phases.empty() && table.phases.back().name == phase && table.step.back() >= step)
      if (const int64_t known = table.row_of(phase, step); known >= 0) drop_rows_from(table, known);
    if (table.phases.empty() || table.phases.back().name != phase)
      table.phases.push_back({.name = phase, .begin = table.rows(), .end = table.rows(), .steps = 0});
    table.step.push_back(step);
    PhaseSpan& span = table.phases.back();
    span.end = table.rows();
    span.steps = static_cast<int64_t>(number_or(entry, "steps", number));
    set_values(table, entry, "", 0);
  });
  for (auto& [name, column] : table.columns) column.resize(table.step.size(), kNoNumber);
  for (const char* key : {"step", "steps", "epochs"}) table.columns.erase(key);
  return table;
}

}  // namespace bicrl::report

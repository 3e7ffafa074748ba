// The entries of metrics.jsonl as columns: a row for each step of the run, over all phases. Plain values.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "report/json_lines.h"

namespace bicrl::report {

struct PhaseSpan {
  std::string name{};
  int64_t begin = 0;  // row of its first step
  int64_t end = 0;    // row behind its last one
  int64_t steps = 0;  // planned
};

struct StepTable {
  std::vector<int64_t> step{};      // 1-based within its phase, for each row
  std::vector<PhaseSpan> phases{};  // in order, each a range of rows
  // Each as long as there are rows; NaN where an entry has no such number. Members of objects are columns as
  // well, by their path: "reward_terms.correct".
  std::map<std::string, std::vector<double>> columns{};
  std::map<std::string, std::string>
      texts{};  // the last value of each text, such as "reward_rule" or "clock"
  LineCounts lines{};

  int64_t rows() const { return static_cast<int64_t>(step.size()); }
  bool has(const std::string& column) const { return columns.contains(column); }
  const PhaseSpan& phase_of(int64_t row) const;
  // -1 if there is no such step.
  int64_t row_of(const std::string& phase, int64_t step_in_phase) const;
  // Names below an object, such as those of "reward_terms".
  std::vector<std::string> members(const std::string& object) const;
};

// A step that stands in the file twice counts as it was taken last. Numbers that are not finite have no
// value.
StepTable read_step_table(const std::filesystem::path& file);

}  // namespace bicrl::report

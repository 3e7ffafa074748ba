// Every response of a run's stages as numbers: reward, advantage and verdict, without texts. Of
// responses.jsonl and the ledger. Plain values.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "report/json_lines.h"
#include "report/step_table.h"

namespace bicrl::report {

// What the page shows of a verdict.
struct VerdictFigures {
  std::string outcome{};  // "correct", a fault class, "infrastructure", "invalid_task" or "undecided"
  bool is_correct = false;
  double speedup = 0;  // over eager PyTorch; 0 if not known
  double candidate_ms = 0, eager_ms = 0;
  std::string clock{}, bound_by{};
};
VerdictFigures verdict_figures(const nlohmann::json& verdict);  // of a verdict in JSON, whatever it holds

// The outcomes of a response that has no verdict, and of every program of a task that can never be graded.
inline constexpr const char* kTruncated = "truncated";
inline constexpr const char* kNoVerdict = "no verdict";
inline constexpr const char* kInvalidTask = "invalid_task";

// Whether an outcome is a judgement of the program. Rates count no others.
bool is_judged(const std::string& outcome);

struct ResponseEntry {
  int32_t row = 0;  // of its step, in StepTable
  int32_t group = 0, sample = 0;
  int32_t task = 0;     // index in ResponseTable::tasks
  int32_t verdict = 0;  // index in ResponseTable::verdicts
  float reward = 0, advantage = 0;
  bool is_masked = false, is_truncated = false;
};

struct ResponseTable {
  std::vector<ResponseEntry> responses{};  // by step, group and sample
  std::vector<std::string> tasks{};
  std::vector<VerdictFigures> verdicts{};
  std::string device{};  // of the verdicts' times
  LineCounts lines{};
  LineCounts ledger_lines{};

  const VerdictFigures& verdict_of(const ResponseEntry& r) const {
    return verdicts[static_cast<size_t>(r.verdict)];
  }
  const std::string& task_of(const ResponseEntry& r) const { return tasks[static_cast<size_t>(r.task)]; }
  // Range of a step's responses, and from one group to the next.
  std::pair<size_t, size_t> of_row(int64_t row) const;
};

ResponseTable read_response_table(const std::filesystem::path& run, const StepTable& steps);

// The ranges [begin, end) of groups in a table, in order.
struct GroupRange {
  size_t begin = 0, end = 0;
};
std::vector<GroupRange> groups_of(const ResponseTable& table);

}  // namespace bicrl::report

#include "report/response_table.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/json.h"

namespace bicrl::report {
namespace {

// Gives equal texts one number.
class Names {
 public:
  int32_t number_of(const std::string& name) {
    return numbers_.try_emplace(name, static_cast<int32_t>(numbers_.size())).first->second;
  }
  const std::unordered_map<std::string, int32_t>& all() const { return numbers_; }

 private:
  std::unordered_map<std::string, int32_t> numbers_;
};

float real(const nlohmann::json& object, const char* key) {
  return static_cast<float>(number_or(object, key, 0));
}

int32_t whole(const nlohmann::json& object, const char* key) {
  const double value = number_or(object, key, 0);
  return value >= 0 && value < 1e9 ? static_cast<int32_t>(value) : 0;
}

// The verdict on each key that counted in the run: of several that ranks found, that of the earliest round,
// and there of the lowest rank (trainer/experience/verdict_ledger.h).
void read_ledger(const std::filesystem::path& folder, const Names& keys, ResponseTable& table) {
  std::error_code failure;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  // "rank-2" before "rank-10".
  std::ranges::sort(files, {}, [](const std::filesystem::path& file) {
    return std::pair(file.native().size(), file.native());
  });
  std::vector<double> rounds(table.verdicts.size(), std::numeric_limits<double>::infinity());
  for (const auto& file : files)
    table.ledger_lines.add(for_each_object(file, [&](const nlohmann::json& line) {
      const auto verdict = line.find("verdict");
      const auto number = keys.all().find(text_or(line, "key"));
      if (verdict == line.end() || !verdict->is_object() || number == keys.all().end()) return;
      const auto index = static_cast<size_t>(number->second);
      const double round = number_or(line, "round", 0);
      if (round >= rounds[index]) return;
      rounds[index] = round;
      table.verdicts[index] = verdict_figures(*verdict);
      if (std::string device = text_or(*verdict, "device"); !device.empty()) table.device = std::move(device);
    }));
}

}  // namespace

bool is_judged(const std::string& outcome) {
  return outcome != kNoVerdict && outcome != "infrastructure" && outcome != kInvalidTask &&
         outcome != "undecided";
}

VerdictFigures verdict_figures(const nlohmann::json& verdict) {
  VerdictFigures figures;
  if (!verdict.is_object()) return {.outcome = kNoVerdict};
  figures.is_correct = flag_or(verdict, "correct", false);
  figures.outcome = text_or(verdict, "outcome", kNoVerdict);
  // An undecided program has a class as well: why it cannot be graded.
  const std::string fault = text_or(verdict, "fault_class");
  if (!fault.empty() && (figures.outcome == kNoVerdict || is_judged(figures.outcome)))
    figures.outcome = fault;
  if (figures.is_correct) figures.outcome = "correct";
  figures.candidate_ms = number_or(verdict, "candidate_ms", 0);
  figures.eager_ms = number_or(verdict, "eager_ms", 0);
  figures.clock = text_or(verdict, "clock");
  if (figures.is_correct && figures.candidate_ms > 0 && figures.eager_ms > 0)
    figures.speedup = figures.eager_ms / figures.candidate_ms;
  const auto counters = try_parse_json(text_or(verdict, "counters", "null"));
  if (counters) figures.bound_by = text_or(counters.value(), "bound_by");
  return figures;
}

std::pair<size_t, size_t> ResponseTable::of_row(int64_t row) const {
  const auto begin = std::lower_bound(responses.begin(), responses.end(), row,
                                      [](const ResponseEntry& r, int64_t wanted) { return r.row < wanted; });
  const auto end = std::upper_bound(begin, responses.end(), row,
                                    [](int64_t wanted, const ResponseEntry& r) { return wanted < r.row; });
  return {static_cast<size_t>(begin - responses.begin()), static_cast<size_t>(end - responses.begin())};
}

ResponseTable read_response_table(const std::filesystem::path& run, const StepTable& steps) {
  ResponseTable table;
  Names tasks, keys;
  const int32_t none = keys.number_of("");
  table.lines = for_each_object(run / "responses.jsonl", [&](const nlohmann::json& line) {
    const int64_t row = steps.row_of(text_or(line, "phase"), whole(line, "step"));
    const auto list = line.find("responses");
    if (row < 0 || list == line.end() || !list->is_array()) return;
    // A step that was taken again replaces what a killed run left of it.
    while (!table.responses.empty() && table.responses.back().row >= row) table.responses.pop_back();
    for (const nlohmann::json& each : *list)
      table.responses.push_back({.row = static_cast<int32_t>(row),
                                 .group = whole(each, "group"),
                                 .sample = whole(each, "sample"),
                                 .task = tasks.number_of(text_or(each, "task")),
                                 .verdict = keys.number_of(text_or(each, "verdict_key")),
                                 .reward = real(each, "reward"),
                                 .advantage = real(each, "advantage"),
                                 .is_masked = flag_or(each, "masked", false),
                                 .is_truncated = flag_or(each, "truncated", false)});
  });
  table.tasks.resize(tasks.all().size());
  for (const auto& [name, number] : tasks.all()) table.tasks[static_cast<size_t>(number)] = name;
  table.verdicts.resize(keys.all().size(), {.outcome = kNoVerdict});
  read_ledger(run / "ledger", keys, table);
  const auto truncated = static_cast<int32_t>(table.verdicts.size());
  table.verdicts.push_back({.outcome = kTruncated});
  for (ResponseEntry& response : table.responses)
    if (response.verdict == none && response.is_truncated) response.verdict = truncated;
  return table;
}

std::vector<GroupRange> groups_of(const ResponseTable& table) {
  std::vector<GroupRange> groups;
  for (size_t i = 0; i < table.responses.size(); ++i) {
    const ResponseEntry& response = table.responses[i];
    const bool is_new = i == 0 || table.responses[i - 1].row != response.row ||
                        table.responses[i - 1].group != response.group;
    if (is_new) groups.push_back({i, i});
    groups.back().end = i + 1;
  }
  return groups;
}

}  // namespace bicrl::report

#include "trainer/run/reports/program_pair.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <unordered_map>

#include "common/error.h"
#include "verdict/verdict.h"

namespace bicrl {
namespace {

constexpr size_t kWidth = 76;
constexpr size_t kTab = 4;
constexpr size_t kMostLines = 120;

bool counts(const EvaluatedResponse& r) { return r.sample == 0 && r.correct && r.speedup > 0; }

// A policy wrote it: what would move a terminal's cursor becomes a question mark. One byte a column: what is
// not ASCII does, too.
std::string column(const std::string& line) {
  std::string shown;
  for (const char c : line) {
    if (c == '\t')
      shown.append(kTab - shown.size() % kTab, ' ');
    else if (c != '\r')
      shown += c >= ' ' && c <= '~' ? c : '?';
  }
  if (shown.size() > kWidth) {
    shown.resize(kWidth - 1);
    shown += '>';
  }
  shown.resize(kWidth, ' ');
  return shown;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (lines.size() <= kMostLines) return lines;
  const size_t left_out = lines.size() - kMostLines;
  lines.resize(kMostLines);
  lines.push_back(concat("(and ", left_out, " more lines)"));
  return lines;
}

std::string figures_of(const EvaluatedResponse& r) {
  char text[160];
  const bool modelled = r.clock == kModelClock;
  snprintf(text, sizeof text, "%s%.2f us%s%s, %.2fx eager PyTorch", modelled ? "modelled " : "",
           1000 * r.candidate_ms, r.bound_by.empty() ? "" : ", bound by ", r.bound_by.c_str(), r.speedup);
  return text;
}

}  // namespace

std::optional<ProgramPair> choose_program_pair(const std::vector<EvaluatedResponse>& before,
                                               const std::vector<EvaluatedResponse>& after) {
  std::unordered_map<std::string, const EvaluatedResponse*> later;
  for (const EvaluatedResponse& r : after)
    if (counts(r)) later.emplace(r.task_id, &r);
  const EvaluatedResponse *from = nullptr, *to = nullptr;
  double gain = 1;
  for (const EvaluatedResponse& r : before) {
    if (!counts(r)) continue;
    const auto found = later.find(r.task_id);
    if (found == later.end() || found->second->speedup / r.speedup <= gain) continue;
    gain = found->second->speedup / r.speedup;
    from = &r;
    to = found->second;
  }
  if (!from) return std::nullopt;
  return ProgramPair{.before = *from, .after = *to};
}

std::string program_pair_text(const std::optional<ProgramPair>& pair, const std::string& before_title,
                              const std::string& after_title) {
  if (!pair)
    return concat("no held-out task was right both ", before_title, " and ", after_title,
                  " and became faster\n");
  const auto row = [](const std::string& left, const std::string& right) {
    std::string line = column(left) + " | " + column(right);
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  };
  char gain[64];
  snprintf(gain, sizeof gain, "%.2f times", pair->after.speedup / pair->before.speedup);
  std::string text = concat("the held-out task whose program gained most, ", pair->after.task_id, ": ", gain,
                            " as fast ", after_title, " as ", before_title, "\n");
  text += row(before_title, after_title);
  text += row(figures_of(pair->before), figures_of(pair->after));
  text += concat(std::string(kWidth, '-'), "-+-", std::string(kWidth, '-'), "\n");
  const std::vector<std::string> left = lines_of(pair->before.program), right = lines_of(pair->after.program);
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i)
    text += row(i < left.size() ? left[i] : "", i < right.size() ? right[i] : "");
  return text;
}

}  // namespace bicrl

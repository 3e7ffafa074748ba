// The before/after tables of a run's held-out evaluations.
#include <algorithm>
#include <cstdio>

#include "common/error.h"
#include "trainer/evaluation/evaluation.h"
#include "verdict/verdict.h"

namespace bicrl {
namespace {

template <class... Args>
std::string formatted(const char* format, Args... args) {
  char text[256];
  snprintf(text, sizeof text, format, args...);
  return text;
}

// Speed-ups are those of the correct programs, fast_p shares of all tasks.
constexpr const char* kTimesTitle = "  speed-up  fast_1   fast_2";

// A dash where nothing was timed: without times a program is neither fast nor slow.
std::string times_of(int64_t timed, double speedup, double fast_1, double fast_2) {
  if (timed == 0) return formatted("    %5s   %5s    %5s  ", "-", "-", "-");
  return formatted("    %5.2fx  %5.1f %%  %5.1f %%", speedup, 100 * fast_1, 100 * fast_2);
}

struct Row {
  std::string moment;
  const HeldOutFigures* figures;
};

std::string rows_of(const std::string& title, const std::vector<Row>& rows) {
  if (rows.empty()) return "";
  const auto any = [&](const auto& has) {
    return std::ranges::any_of(rows, [&](const Row& row) { return has(*row.figures); });
  };
  const bool timed = any([](const HeldOutFigures& f) { return f.timed > 0; });
  // Programs of synthesised tasks that compute as none of the known ones does.
  const bool novel = any([](const HeldOutFigures& f) { return f.novel_rate > 0; });
  std::string table = formatted("%-26s tasks  compile  correct   change", title.c_str());
  if (timed) table += kTimesTitle;
  if (novel) table += "     novel";
  table += "\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    const HeldOutFigures& f = *rows[i].figures;
    table += formatted("%-26s %5lld  %5.1f %%  %5.1f %%", rows[i].moment.c_str(),
                       static_cast<long long>(f.tasks), 100 * f.compile_rate, 100 * f.correct_rate);
    if (i > 0)
      table += formatted("   %+5.1f", 100 * (f.correct_rate - rows[i - 1].figures->correct_rate));
    else if (timed)
      table += "        ";
    if (timed) table += times_of(f.timed, f.geomean_speedup, f.fast_1, f.fast_2);
    if (novel) table += formatted("   %5.1f %%", 100 * f.novel_rate);
    if (f.unverified > 0) table += concat("   (", f.unverified, " without a verdict)");
    if (f.undecided > 0) table += concat("   (", f.undecided, " cannot be graded here)");
    table += "\n";
  }
  return table;
}

std::string best_of_table(const std::vector<EvaluationResult>& results, bool timed) {
  std::string table;
  for (const EvaluationResult& r : results) {
    if (!r.best_of) continue;
    if (table.empty())
      table += formatted("%-26s tasks           correct%s\n",
                         concat("best of ", r.best_of->samples, " samples").c_str(),
                         timed ? concat("        ", kTimesTitle).c_str() : "");
    table += formatted("%-26s %5lld           %5.1f %%", moment_of(r.phase).c_str(),
                       static_cast<long long>(r.best_of->tasks), 100 * r.best_of->correct_rate);
    if (timed)
      table += concat("        ", times_of(r.best_of->timed, r.best_of->geomean_speedup, r.best_of->fast_1,
                                           r.best_of->fast_2));
    table += "\n";
  }
  return table;
}

}  // namespace

std::string evaluation_table(const std::vector<EvaluationResult>& results, const std::string& clock) {
  std::vector<Row> whole, infilling;
  bool timed = false;
  for (const EvaluationResult& r : results) {
    whole.push_back({moment_of(r.phase), &r});
    if (r.infilling) infilling.push_back({moment_of(r.phase), &*r.infilling});
    timed |= r.timed > 0 || (r.best_of && r.best_of->timed > 0);
  }
  std::string table = rows_of("held-out tasks, greedy", whole);
  table += rows_of("as infilling", infilling);
  table += best_of_table(results, timed);
  if (timed && clock == kModelClock)
    table +=
        "(speed-ups over eager PyTorch are modelled: geometric means over the correct; fast_p are shares of "
        "all)\n";
  return table;
}

}  // namespace bicrl

#include "report/best_kernels.h"

#include <algorithm>
#include <cmath>

#include "tasks/synthetic/technique.h"

namespace bicrl::report {
namespace {

// Whether an update of an earlier step of this phase imitated responses, once the task had a correct one.
bool was_imitated(const StepTable& steps, int64_t first_correct_row, int64_t row) {
  const auto updates = steps.columns.find("imitation_updates");
  if (updates == steps.columns.end()) return false;
  for (int64_t i = first_correct_row; i < row; ++i)
    if (updates->second[static_cast<size_t>(i)] > 0 && steps.phase_of(i).name == steps.phase_of(row).name)
      return true;
  return false;
}

}  // namespace

std::vector<BestKernel> best_kernels(const ResponseTable& table, const StepTable& steps) {
  std::vector<BestKernel> all(table.tasks.size());
  std::vector<int64_t> first_correct_row(table.tasks.size(), -1);
  for (const ResponseEntry& response : table.responses) {
    BestKernel& best = all[static_cast<size_t>(response.task)];
    const VerdictFigures& verdict = table.verdict_of(response);
    ++best.responses;
    best.correct += verdict.is_correct;
    if (!verdict.is_correct || verdict.speedup <= 0 || response.is_masked) continue;
    int64_t& first = first_correct_row[static_cast<size_t>(response.task)];
    if (first < 0) {
      first = response.row;
      best.first_speedup = verdict.speedup;
    }
    if (verdict.speedup <= best.speedup) continue;
    best.task = table.task_of(response);
    best.found = {response.row, response.group, response.sample};
    best.speedup = verdict.speedup;
    best.candidate_ms = verdict.candidate_ms;
    best.eager_ms = verdict.eager_ms;
    best.clock = verdict.clock;
    best.bound_by = verdict.bound_by;
    best.lineage = was_imitated(steps, first, response.row) ? "imitated" : "sampled";
  }
  std::erase_if(all, [](const BestKernel& kernel) { return kernel.speedup <= 0; });
  std::ranges::stable_sort(all, std::ranges::greater(), &BestKernel::speedup);
  return all;
}

void complete_kernels(const KeptResponses& kept, std::vector<BestKernel>& kernels) {
  for (BestKernel& kernel : kernels) {
    const auto found = kept.responses.find(kernel.found);
    if (found == kept.responses.end()) {
      kernel.lineage = "unknown";
      continue;
    }
    if (const auto technique = read_technique(found->second.text)) kernel.technique = technique->text();
    if (found->second.is_repair) kernel.lineage = "repaired";
  }
}

}  // namespace bicrl::report

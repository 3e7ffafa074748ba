#include "trainer/experience/prompt_plan.h"

#include <algorithm>

namespace bicrl {

std::vector<PromptedTask> plan_prompts(const std::vector<std::optional<RepairEntry>>& repairs,
                                       const std::vector<Task>& tasks, const CanShow& can_show,
                                       Curriculum& curriculum) {
  std::vector<PromptedTask> plan(repairs.size());
  for (size_t i = 0; i < repairs.size(); ++i) {
    if (!repairs[i]) continue;
    const auto task = std::find_if(tasks.begin(), tasks.end(),
                                   [&](const Task& each) { return each.id == repairs[i]->task_id; });
    if (task != tasks.end() && can_show(*task, repairs[i]->attempt))
      plan[i] = {.task = &*task, .repair = repairs[i]->attempt};
  }
  const auto open = std::count_if(plan.begin(), plan.end(), [](const auto& p) { return !p.task; });
  const std::vector<const Task*> chosen = curriculum.next(static_cast<size_t>(open));
  size_t next = 0;
  for (PromptedTask& prompted : plan)
    if (!prompted.task) prompted.task = chosen[next++];
  return plan;
}

}  // namespace bicrl

#include "episode/prompt_plan.h"

#include <algorithm>

namespace bicrl {

std::vector<PromptedTask> plan_prompts(const std::vector<std::optional<RepairEntry>>& repairs,
                                       const std::vector<Task>& tasks, const CanShow& can_show,
                                       const LeftOut& left_out, Curriculum& curriculum) {
  std::vector<PromptedTask> plan(repairs.size());
  for (size_t i = 0; i < repairs.size(); ++i) {
    if (!repairs[i]) continue;
    const auto task = std::find_if(tasks.begin(), tasks.end(),
                                   [&](const Task& each) { return each.id == repairs[i]->task_id; });
    if (task != tasks.end() && !left_out(*task) && can_show(*task, repairs[i]->attempt))
      plan[i] = {.task = &*task, .repair = repairs[i]->attempt};
  }
  for (PromptedTask& prompted : plan)
    if (!prompted.task) prompted.task = curriculum.next(1, left_out).front();
  return plan;
}

}  // namespace bicrl

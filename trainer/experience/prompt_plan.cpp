#include "trainer/experience/prompt_plan.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {
namespace {

const Task* next_task(size_t tasks, const LeftOut& left_out, Curriculum& curriculum) {
  for (size_t i = 0; i < tasks; ++i)
    if (const Task* task = curriculum.next(1).front(); !left_out(*task)) return task;
  throw InputError("every task whose turn it is was left out, as the verifier can grade none of them");
}

}  // namespace

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
    if (!prompted.task) prompted.task = next_task(tasks.size(), left_out, curriculum);
  return plan;
}

}  // namespace bicrl

// Plan of a step's prompts: repairs of earlier failures, and for all other groups the curriculum's next
// tasks.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "reward/repair_buffer.h"
#include "tasks/curriculum.h"

namespace bicrl {

// A group of a step: its task, and a failed attempt to show if the group is to repair one.
struct PromptedTask {
  const Task* task = nullptr;
  std::optional<FailedAttempt> repair;
};

using CanShow = std::function<bool(const Task&, const FailedAttempt&)>;

// One group for each entry of `repairs`. A group with none takes the curriculum's next task, and so does one
// whose repair cannot be shown, or answers none of `tasks`; a repair takes no task's turn. Tasks that are
// left out lose theirs. Throws InputError if the curriculum has no other.
std::vector<PromptedTask> plan_prompts(const std::vector<std::optional<RepairEntry>>& repairs,
                                       const std::vector<Task>& tasks, const CanShow& can_show,
                                       const LeftOut& left_out, Curriculum& curriculum);

}  // namespace bicrl

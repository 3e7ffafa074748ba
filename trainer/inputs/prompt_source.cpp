#include "trainer/inputs/prompt_source.h"

#include "tasks/prompt_set.h"
#include "tasks/task_set.h"
#include "trainer/inputs/existing_path.h"

namespace bicrl {
namespace {

template <class Item>
void keep_first(std::vector<Item>& items, int64_t limit) {
  if (limit > 0 && static_cast<int64_t>(items.size()) > limit)
    items.erase(items.begin() + limit, items.end());
}

}  // namespace

PromptSource PromptSource::from_config(const ConfigSection& section,
                                       const std::filesystem::path& config_folder) {
  PromptSource source;
  section.prefer_overridden({"tasks", "prompts"});
  const std::string tasks = section.text("tasks", ""), prompts = section.text("prompts", "");
  if (tasks.empty() == prompts.empty())
    section.reject(tasks.empty() ? "prompts" : "tasks",
                   "name either `tasks` (a task file) or `prompts` (a file of plain prompts)");
  if (prompts.empty()) {
    source.tasks = existing_path(section, "tasks", tasks, config_folder);
    source.stage = parse_stage(section.choice("stage", "end_to_end", {"infilling", "end_to_end"}));
    source.style = parse_prompt_style(section.choice("prompt_style", "published", prompt_style_names()));
  } else {
    source.prompts = existing_path(section, "prompts", prompts, config_folder);
    for (const char* key : {"stage", "prompt_style"})
      section.refuse_without_effect(key, "with `prompts`, which are asked as they are");
  }
  source.limit = section.integer("limit", 0, 0);
  return source;
}

PromptList PromptSource::load(Scaffold scaffold) const {
  PromptList list;
  if (plain()) {
    list.prompts = load_prompts(prompts);
    list.hash = hash_of(list.prompts);
    keep_first(list.prompts, limit);
    return list;
  }
  const bool clamped = stage == Stage::kInfilling && scaffold == Scaffold::kClamp;
  std::vector<Task> all = load_tasks(tasks, clamped ? TaskUse::kClampedInfilling : TaskUse::kAny);
  list.hash = hash_of(all);
  keep_first(all, limit);
  for (const Task& task : all) list.prompts.push_back(make_prompt(task, stage, style, scaffold));
  return list;
}

}  // namespace bicrl

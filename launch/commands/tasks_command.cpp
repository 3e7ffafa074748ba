// `bicrl tasks`: what a run would be asked. Shows a configuration's tasks and writes them in the published
// form, in which any run, `bicrl verify` and `bicrl eval` read them again, or checks what they are worth.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "launch/commands/task_check.h"
#include "launch/curate/task_defect_report.h"
#include "launch/learner_commands.h"
#include "sandbox/service/verifier_server.h"
#include "tasks/task_set.h"
#include "trainer/inputs/task_pool.h"
#include "trainer/run/run_settings.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

// In one file no id may occur twice. Those of several files may, and are told apart by the names of the
// files.
std::vector<Task> with_unique_ids(std::vector<Task> tasks) {
  std::set<std::string> ids;
  const bool unique =
      std::ranges::all_of(tasks, [&](const Task& task) { return ids.insert(task.published_id()).second; });
  if (!unique)
    for (Task& task : tasks) task.source.clear();
  return tasks;
}

void describe(const std::string& name, const std::vector<Task>& tasks, const fs::path& folder) {
  if (tasks.empty()) return;
  std::map<int, size_t> levels;
  size_t known = 0;
  size_t scaffolds = 0;
  for (const Task& task : tasks) {
    ++levels[task.level];
    known += !task.cuda_code.empty();
    scaffolds += task.has_scaffold();
  }
  std::cout << name << ": " << tasks.size() << " tasks, " << known << " with a known program, " << scaffolds
            << " with a scaffold for infilling; levels";
  for (const auto& [level, count] : levels) std::cout << " " << level << ": " << count;
  std::cout << "\n";
  if (folder.empty()) return;
  const fs::path file = folder / (name + ".json");
  save_tasks(file, with_unique_ids(tasks));
  std::cout << "  written to " << file.string() << "\n";
}

// What the policy reads, and what the warm-up trains it to write.
void show_prompt(const Task& task, Stage stage, PromptStyle style, Scaffold scaffold) {
  const Prompt prompt = make_prompt(task, stage, style, scaffold);
  std::cout << "\nits prompt (" << to_string(stage) << ")\n" << prompt.text << prompt.clamp_prefix << "\n";
  if (!task.cuda_code.empty())
    std::cout << "\nthe answer to it\n" << expected_answer(prompt, task.cuda_code) << "\n";
}

}  // namespace

static int run_tasks_command(const LearnerCommand& command) {
  const ConfigDocument document = ConfigDocument::from_file(command.config_path, command.overrides);
  const RunSettings settings =
      RunSettings::from_config(document.root(), fs::path(command.config_path).parent_path());
  const VerifierOptions verifier =
      VerifierOptions::from_config(document.root().section("verifier").section("server"));
  document.finish();
  const std::vector<TaskSplit> splits = load_splits(settings.tasks);
  const fs::path folder = command.output_folder;
  std::error_code failure;
  if (!folder.empty()) fs::create_directories(folder, failure);
  if (failure) throw Error(concat("cannot make ", folder.string(), ": ", failure.message()));
  for (const TaskSplit& split : splits) describe(split.name, split.tasks, folder);
  const std::vector<Task>& train = splits.front().tasks;
  if (command.check_tasks) {
    std::vector<std::vector<Task>> judged;
    for (const TaskSplit& split : splits)
      judged.push_back(check_tasks(split.name, split.tasks, verifier.pipeline, std::cout));
    for (size_t i = 0; i < splits.size(); ++i)
      report_task_defects(splits[i].name, judged[i], verifier.pipeline, std::cout);
  } else if (folder.empty() && !train.empty()) {
    const Task& first = train.front();
    std::cout << "\nthe first one, " << first.id << "\n" << first.pytorch_code << "\n";
    if (!first.cuda_code.empty()) std::cout << "its known program\n" << first.cuda_code << "\n";
    const PromptStyle style = settings.tasks.prompt_style;
    const Scaffold scaffold = settings.evaluation.decoding.scaffold;
    if (first.has_scaffold()) show_prompt(first, Stage::kInfilling, style, scaffold);
    show_prompt(first, Stage::kEndToEnd, style, scaffold);
  }
  std::cout << std::flush;
  return static_cast<int>(ExitCode::kOk);
}

namespace {

const LearnerCommandRegistration kTasksRegistered("tasks", run_tasks_command);

}  // namespace
}  // namespace bicrl

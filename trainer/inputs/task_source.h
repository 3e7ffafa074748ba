// Source of a run's tasks: task files, or synthesis. Plain values.
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "common/config/config.h"
#include "tasks/prompt.h"
#include "tasks/synthetic/synthesiser.h"
#include "tasks/synthetic/synthetic_split.h"
#include "tasks/task_set.h"

namespace bicrl {

// Key `split` of a section: one of these parts of synthesised tasks, the first unless another is named, and
// never one without tasks.
SyntheticSplit split_from(const ConfigSection& section, const SynthesisOptions& synthetic,
                          const std::vector<SyntheticSplit>& allowed);

// Synthesised tasks, or files. A stage takes the tasks that it can use (infilling needs a scaffold).
struct TaskSource {
  std::optional<SynthesisOptions> synthetic;
  std::vector<std::filesystem::path> train_files;
  std::vector<std::filesystem::path> held_out_files;
  // Which of the synthesised tasks TaskPool::held_out has: what a run's `evaluation` or an evaluation's
  // `tasks` says.
  SyntheticSplit split = SyntheticSplit::kDevelopment;
  TaskUse use = TaskUse::kAny;
  bool strict = true;          // a broken entry stops the run; otherwise it is reported and left out
  bool allow_overlap = false;  // held-out tasks may be training tasks as well
  PromptStyle prompt_style = PromptStyle::kCompact;

  // `needs_training`: whether tasks must be there to train on.
  static TaskSource from_config(const ConfigSection& section, const std::filesystem::path& config_folder,
                                bool needs_training = true);
};

}  // namespace bicrl

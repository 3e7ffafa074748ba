// Source of the prompts of `bicrl generate`: a task file, or a file of plain prompts. Plain values.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "rollout/decoding_settings.h"
#include "tasks/prompt.h"

namespace bicrl {

// The prompts of one file, in its order.
struct PromptList {
  std::vector<Prompt> prompts;
  std::string hash;  // of all that the file says, also of what a limit leaves out
};

// Keys `tasks` (with `stage` and `prompt_style`) or `prompts`, and `limit`.
struct PromptSource {
  std::filesystem::path tasks;    // empty: plain prompts
  std::filesystem::path prompts;  // empty: tasks
  Stage stage = Stage::kEndToEnd;
  PromptStyle style = PromptStyle::kPublished;
  int64_t limit = 0;  // of the file's first prompts; 0: all

  static PromptSource from_config(const ConfigSection& section, const std::filesystem::path& config_folder);

  bool plain() const { return tasks.empty(); }
  const std::filesystem::path& file() const { return plain() ? prompts : tasks; }
  const char* what() const { return plain() ? "prompts" : "tasks"; }
  // Throws InputError if an entry of the file is broken.
  PromptList load(Scaffold scaffold) const;
};

}  // namespace bicrl

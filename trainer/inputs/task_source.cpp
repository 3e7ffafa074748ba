#include "trainer/inputs/task_source.h"

#include <algorithm>

#include "trainer/inputs/existing_path.h"

namespace bicrl {
namespace fs = std::filesystem;

SyntheticSplit split_from(const ConfigSection& section, const SynthesisOptions& synthetic,
                          const std::vector<SyntheticSplit>& allowed) {
  std::vector<std::string> names;
  for (const SyntheticSplit split : allowed) names.push_back(to_string(split));
  const std::string name = section.choice("split", names.front(), names);
  const SyntheticSplit split = allowed[static_cast<size_t>(std::ranges::find(names, name) - names.begin())];
  if (split == SyntheticSplit::kTest && synthetic.test_compositions == 0)
    section.reject("split", "there are no test tasks: tasks.synthetic.test_compositions is 0");
  return split;
}

TaskSource TaskSource::from_config(const ConfigSection& section, const fs::path& config_folder,
                                   bool needs_training) {
  TaskSource source;
  section.prefer_overridden({"train", "synthetic"});
  source.train_files = existing_paths(section, "train", config_folder);
  const bool has_files = !source.train_files.empty(), is_synthetic = section.has("synthetic");
  if (is_synthetic == has_files && (is_synthetic || needs_training))
    section.reject("synthetic", "tasks come either from `synthetic` options or from `train` files");
  if (is_synthetic) {
    source.synthetic = SynthesisOptions::from_config(section.section("synthetic"));
    for (const char* key : {"held_out", "strict", "allow_overlap"})
      section.refuse_without_effect(key, "with `synthetic` tasks, which hold out some of their own");
  } else {
    source.held_out_files = existing_paths(section, "held_out", config_folder);
    source.strict = section.boolean("strict", true);
    source.allow_overlap = section.boolean("allow_overlap", false);
  }
  source.prompt_style = parse_prompt_style(section.choice("prompt_style", "compact", prompt_style_names()));
  return source;
}

}  // namespace bicrl

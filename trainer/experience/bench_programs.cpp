#include "trainer/experience/bench_programs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "trainer/inputs/existing_path.h"

namespace bicrl {
namespace fs = std::filesystem;

std::string BenchSettings::warning() {
  return "bench.programs is set: THIS RUN IS A BENCH. Lengths and denoise steps of its responses are drawn "
         "and "
         "its programs come from a file; it measures time, and its policy learns nothing";
}

BenchSettings BenchSettings::from_config(const ConfigSection& section, const fs::path& config_folder) {
  BenchSettings settings;
  const std::string programs = section.text("programs", "");
  if (programs.empty()) {
    for (const char* key : {"median_tokens", "steps_per_block"})
      section.refuse_without_effect(key, "without 'programs', which make a run a bench");
    return settings;
  }
  settings.programs = existing_path(section, "programs", programs, config_folder);
  DrawnResponses& drawn = settings.drawn;
  drawn.median_tokens = section.real("median_tokens", drawn.median_tokens, 1);
  drawn.steps_per_block = section.real("steps_per_block", drawn.steps_per_block, 1);
  return settings;
}

BenchPrograms BenchPrograms::from_file(const fs::path& path) {
  BenchPrograms programs;
  programs.path_ = path;
  try {
    nlohmann::json::parse(read_file(path)).get_to(programs.programs_);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(concat("bench.programs: ", path.string(), ": ", error.what()));
  }
  return programs;
}

const std::string& BenchPrograms::of(const std::string& task_id, int64_t sample, int64_t samples) const {
  const auto found = programs_.find(task_id);
  if (found == programs_.end() || found->second.empty())
    throw InputError(concat("bench.programs: ", path_.string(), " has no program for task ", task_id));
  const int64_t distinct = std::clamp<int64_t>(samples / 2, 1, std::ssize(found->second));
  return found->second[static_cast<size_t>(sample % distinct)];
}

std::unique_ptr<const BenchPrograms> bench_programs(const BenchSettings& settings,
                                                    const std::vector<Task>& tasks) {
  if (!settings.is_enabled()) return nullptr;
  auto programs = std::make_unique<const BenchPrograms>(BenchPrograms::from_file(settings.programs));
  for (const Task& task : tasks) programs->of(task.id, /*sample=*/0, /*samples=*/1);
  return programs;
}

}  // namespace bicrl

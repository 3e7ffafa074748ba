// For benches alone: the section `bench` of a configuration. Weights that nothing has trained end no
// response, are sure of no token and write no program, so that a bench of whole steps draws lengths and
// denoise steps (rollout/bench/drawn_responses.h) and hands programs of a file to the verifiers in the place
// of generated ones. All else is as in any run. Such a run says what it is in its log, in run.json and on its
// page.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "rollout/bench/drawn_responses.h"
#include "tasks/task.h"

namespace bicrl {

struct BenchSettings {
  std::filesystem::path programs;  // empty: no bench
  DrawnResponses drawn;

  bool is_enabled() const { return !programs.empty(); }
  // A sentence for a person.
  static std::string warning();

  static BenchSettings from_config(const ConfigSection& section, const std::filesystem::path& config_folder);
};

// Immutable, hence thread-safe.
class BenchPrograms {
 public:
  // A JSON object: of each task's id a list of programs. Throws InputError.
  static BenchPrograms from_file(const std::filesystem::path& path);

  // Of sample number `sample` of a group of `samples`: the first half of a group has the list's first
  // programs in turn, and the second half the same again.
  // Throws InputError if the task has none.
  const std::string& of(const std::string& task_id, int64_t sample, int64_t samples) const;

 private:
  std::filesystem::path path_;  // for messages
  std::map<std::string, std::vector<std::string>> programs_;
};

// Null unless the settings are those of a bench. Throws InputError naming the first task without a program.
std::unique_ptr<const BenchPrograms> bench_programs(const BenchSettings& settings,
                                                    const std::vector<Task>& tasks);

}  // namespace bicrl

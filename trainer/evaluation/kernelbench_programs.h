// Inputs of grading KernelBench: the problems of a level, from task files in its published form, and programs
// that exist already. Free functions; thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/task.h"
#include "trainer/evaluation/kernelbench_results.h"

namespace bicrl {

struct KernelBenchTask {
  KernelBenchProblem problem;
  Task task;
};

// Of that level, by ascending number. Throws InputError that names the file if one cannot be used, an entry
// is broken or not in KernelBench's form, a number or name appears twice, or nothing is of the level.
std::vector<KernelBenchTask> load_kernelbench(const std::vector<std::filesystem::path>& files, int64_t level);

struct KernelBenchProgram {
  size_t problem = 0;  // its place among the problems
  int64_t sample = 0;
  std::string program;
};

// From a folder as KernelBench keeps runs in (level_1_problem_19_sample_0_kernel.py), or from JSON lines as
// `bicrl generate` and the key `responses` of `bicrl eval` write them: "task_id", "program", and "sample"
// (without it they count by their order). By ascending problem and sample. Other problems' are left out.
// Throws InputError if there is none, a line is none of these, or a sample appears twice.
std::vector<KernelBenchProgram> load_programs(const std::filesystem::path& path,
                                              const std::vector<KernelBenchTask>& problems);
std::vector<KernelBenchProgram> parse_programs(std::string_view lines, const std::string& name,
                                               const std::vector<KernelBenchTask>& problems);

}  // namespace bicrl

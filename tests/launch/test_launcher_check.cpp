// Launchers that announce several tasks, and ranks that are bound to fewer cores than they could use.
#include "launch/launcher_check.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

// "launcher count", or "".
std::string announcement(const std::map<std::string, std::string>& variables) {
  const auto tasks = announced_tasks([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  return tasks ? tasks->variable + " " + std::to_string(tasks->count) : "";
}

}  // namespace

TEST_CASE("the innermost launcher says how many tasks there are") {
  CHECK(announcement({}) == "");
  CHECK(announcement({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "8"}}) == "SLURM_STEP_NUM_TASKS 4");
  CHECK(announcement({{"SLURM_NTASKS", "8"}}) == "");  // of an allocation: nothing is started yet
  CHECK(announcement({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}) == "PMI_SIZE 2");
  CHECK(announcement({{"PMIX_RANK", "0"}}) == "PMIX_RANK 1");
  CHECK(announcement({{"PMIX_RANK", "3"}}) == "PMIX_RANK 4");
  CHECK(announcement({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}) ==
        "OMPI_COMM_WORLD_SIZE 1");
  for (const char* nonsense : {"", "many", "-2", "4 tasks"})
    CHECK(announcement({{"PMI_SIZE", nonsense}}) == "");
}

TEST_CASE("a rank that is bound to fewer cores than it could use is reported") {
  const auto problem = [](int cores, int of_launcher, int64_t threads, int ranks, bool launched = true) {
    return binding_problem({cores, of_launcher}, threads, ranks, launched);
  };
  CHECK_THAT(problem(1, 16, 1, 1),
             ContainsSubstring("1 of its launcher's 16 cores") && ContainsSubstring("mpirun --bind-to none"));
  CHECK_THAT(problem(1, 16, 1, 2), ContainsSubstring("which 2 ranks share"));
  CHECK_THAT(problem(2, 16, 8, 8), ContainsSubstring("bound to 2 cores, and has 8 threads"));
  CHECK_THAT(problem(2, 2, 8, 1, /*launched=*/false),
             ContainsSubstring("has 8 threads") && !ContainsSubstring("mpirun"));
  CHECK(problem(2, 16, 2, 8).empty());
  CHECK(problem(16, 16, 1, 1).empty());
  CHECK(problem(1, 16, 1, 1, /*launched=*/false).empty());  // whoever starts it by hand has bound it
  CHECK(problem(1, 1, 1, 4).empty());
}

}  // namespace bicrl

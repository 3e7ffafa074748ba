// Infilling programs in the published form, end to end on the host backend.
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <map>

#include "common/files.h"
#include "tests/sandbox/host_support.h"

namespace bicrl::testing {
namespace {

bool calls_library(const std::string& program) {
  return program.find("cublas") != std::string::npos || program.find("cudnn") != std::string::npos;
}

// How many programs ended where: a tier of those that pass every draw, or a fault class.
std::map<std::string, int> outcomes_of(const std::filesystem::path& file) {
  const auto tasks = nlohmann::json::parse(read_file(file));
  std::map<std::string, int> outcomes;
  for (size_t i = 0; i < tasks.size(); ++i) {
    CAPTURE(i);
    // The inputs of library programs take seconds on a CPU, and the class does not depend on them.
    const bool library = calls_library(tasks[i]["cuda_code"]);
    std::string code = tasks[i]["pytorch_code"];
    if (library) code = task_of("x", "torch.ones(1)") + "\n" + code.substr(code.find("def get_init_inputs"));
    const HostTask task =
        host_driver().ask_oracle(library ? task_of("x", "torch.ones(1)") : code, library ? 1 : 3);
    const HostRun run = host_driver().run(task, tasks[i]["cuda_code"]);
    if (getenv("BICRL_TABLE"))
      printf("%2zu %-8s %-14s passed %d worst %.2g split %.1f compile %.0f record %.1f replay %.1f %s\n", i,
             run.tier.c_str(), run.fault_class.c_str(), run.passed, run.worst, run.split_ms, run.compile_ms,
             run.record_ms, run.replay_ms, run.message.substr(0, 200).c_str());
    CAPTURE(run.message, run.worst);
    if (library) {
      CHECK(run.fault_class == "library_call");
    } else {
      CHECK(run.fault_class == "");
      CHECK(run.passed == 3);
    }
    ++outcomes[run.fault_class.empty() ? run.tier : run.fault_class];
  }
  return outcomes;
}

}  // namespace

TEST_CASE("our own programs: 6 graded correct at 1e-2, 1 named as library call") {
  const auto outcomes = outcomes_of(task_files("infilling_tasks.json").front());
  CHECK(outcomes == std::map<std::string, int>{{"replay", 6}, {"library_call", 1}});
}

TEST_CASE("the published programs: 42 graded correct at 1e-2, 8 named as library calls") {
  auto outcomes = outcomes_of(published_file("infilling_tasks.json"));
  CHECK(outcomes["library_call"] == 8);
  CHECK(outcomes["replay"] + outcomes["direct"] == 42);
  CHECK(outcomes["replay"] >= 40);
}

}  // namespace bicrl::testing

// The published infilling programs, end to end on the host backend.
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <map>
#include <set>

#include "common/files.h"
#include "tests/sandbox/host_support.h"

namespace bicrl::testing {

// Programs that call cuBLAS or cuDNN.
const std::set<size_t> kLibraryPrograms = {7, 8, 18, 22, 25, 28, 33, 35};

TEST_CASE("the published programs: 42 graded correct at 1e-2, 8 named as library calls") {
  const auto tasks = nlohmann::json::parse(read_file(published_file("infilling_tasks.json")));
  REQUIRE(tasks.size() == 50);
  std::map<std::string, int> tiers;
  for (size_t i = 0; i < tasks.size(); ++i) {
    CAPTURE(i);
    // Their inputs take seconds on a CPU, and the class does not depend on them.
    const bool library = kLibraryPrograms.count(i) > 0;
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
      ++tiers[run.tier];
    }
  }
  CHECK(tiers["replay"] + tiers["direct"] == 42);
  CHECK(tiers["replay"] >= 40);
}

}  // namespace bicrl::testing

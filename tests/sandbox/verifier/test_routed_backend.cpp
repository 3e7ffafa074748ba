// Which backend makes which run of a plan, and what becomes of the answers.
#include "sandbox/verifier/routed_backend.h"

#include <catch2/catch_test_macros.hpp>
#include <functional>

namespace bicrl {
namespace {

// Answers each run by `say`, up to the first fault, and keeps what it was asked.
class Pretended : public Backend {
 public:
  using Say = std::function<RunOutcome(const RunRequest&)>;
  Pretended(BackendFeatures features, Say say) : features_(std::move(features)), say_(std::move(say)) {}
  const BackendFeatures& features() const override { return features_; }
  RunResult run(const RunPlan& plan, std::stop_token) override {
    RunResult result = whole;
    result.run_ms = 1;
    if (whole.fault) return result;
    for (const RunRequest& run : plan.runs) {
      asked.push_back(run.seed);
      result.runs.push_back(say_(run));
      if (result.runs.back().fault) break;
    }
    return result;
  }
  RunResult whole;
  std::vector<uint64_t> asked;  // seeds, which number the runs here

 private:
  BackendFeatures features_;
  Say say_;
};

RunOutcome good(const RunRequest& run) {
  RunOutcome outcome;
  outcome.lane_operations = run.seed;
  return outcome;
}
RunOutcome bad(FaultClass fault_class) {
  RunOutcome outcome;
  outcome.fault = Fault::of_program(fault_class, "");
  return outcome;
}

struct Both {
  explicit Both(InstrumentedRuns instrumented, Pretended::Say on_device = good,
                Pretended::Say on_machine = good)
      : device(new Pretended({.name = "gpu",
                              .shadows = false,
                              .watches_reads = false,
                              .counts = false,
                              .present = {},
                              .missing = {"timing: none"}},
                             std::move(on_device))),
        machine(new Pretended({.name = "ptx", .present = {}, .missing = {}}, std::move(on_machine))),
        routed(std::unique_ptr<Backend>(device), std::unique_ptr<Backend>(machine), instrumented) {}
  Pretended *device, *machine;
  RoutedBackend routed;
};

// 1 plain, 2 with shadows, 3 watched, 4 plain, 5 without launches.
RunPlan plan() {
  RunPlan plan;
  plan.runs = {{.seed = 1},
               {.seed = 2, .shadows = true},
               {.seed = 3, .watch_reads = true},
               {.seed = 4},
               {.seed = 5, .skip_launches = true}};
  return plan;
}

using Seeds = std::vector<uint64_t>;

}  // namespace

TEST_CASE("plain runs go to the device, what it cannot say to the machine, which goes first") {
  Both both(InstrumentedRuns::kRequired);
  CHECK(both.routed.features().name == "gpu+ptx");
  CHECK(both.routed.features().shadows);
  CHECK(both.routed.features().missing == std::vector<std::string>{"timing: none"});
  const RunResult result = both.routed.run(plan(), {});
  CHECK(both.machine->asked == Seeds{5, 3, 2});
  CHECK(both.device->asked == Seeds{1, 4});
  REQUIRE(result.runs.size() == 5);
  for (size_t i = 0; i < 5; ++i) CHECK(result.runs[i].lane_operations == i + 1);
  CHECK(result.note.empty());
  CHECK(result.run_ms == 2);
}

TEST_CASE("what the machine finds at fault never reaches the device") {
  for (const InstrumentedRuns instrumented :
       {InstrumentedRuns::kRequired, InstrumentedRuns::kWherePossible}) {
    Both both(instrumented, good,
              [](const RunRequest& run) { return run.shadows ? bad(FaultClass::kRace) : good(run); });
    const RunResult result = both.routed.run(plan(), {});
    CHECK(both.device->asked.empty());
    REQUIRE(result.runs.size() == 2);
    CHECK(result.runs.back().fault.is(FaultClass::kRace));
  }
}

TEST_CASE("a fault on the device stands where its run does") {
  Both both(InstrumentedRuns::kRequired,
            [](const RunRequest& run) { return run.seed == 4 ? bad(FaultClass::kTrap) : good(run); });
  const RunResult result = both.routed.run(plan(), {});
  REQUIRE(result.runs.size() == 4);
  CHECK(result.runs.back().fault.is(FaultClass::kTrap));
}

TEST_CASE("instrumented runs beyond the limit of work fail, or are made on the device and reported") {
  const auto slow = [](const RunRequest& run) { return run.shadows ? bad(FaultClass::kTimeout) : good(run); };
  Both strict(InstrumentedRuns::kRequired, good, slow);
  CHECK(strict.routed.run(plan(), {}).runs.back().fault.is(FaultClass::kTimeout));
  CHECK(strict.device->asked.empty());

  Both lenient(InstrumentedRuns::kWherePossible, good, slow);
  CHECK(lenient.routed.features().name == "gpu+ptx-where-possible");  // its verdicts know less
  const RunResult result = lenient.routed.run(plan(), {});
  CHECK(lenient.device->asked == Seeds{1, 2, 4});
  REQUIRE(result.runs.size() == 5);
  CHECK_FALSE(result.runs.back().fault);
  CHECK_FALSE(result.note.empty());

  Both whole(InstrumentedRuns::kWherePossible);
  whole.machine->whole.fault = Fault::of_program(FaultClass::kMemory, "");
  CHECK_FALSE(whole.routed.run(plan(), {}).fault);
  CHECK(whole.device->asked == Seeds{1, 2, 3, 4, 5});

  Both counting(InstrumentedRuns::kWherePossible, good,
                [](const RunRequest&) { return bad(FaultClass::kTimeout); });
  RunPlan counted;
  counted.runs = {{.seed = 1, .count = true}};
  CHECK(counting.routed.run(counted, {}).runs.back().fault.is(FaultClass::kTimeout));
}

TEST_CASE("trouble of either backend is the result's") {
  Both both(InstrumentedRuns::kWherePossible);
  both.device->whole.fault = Fault::infrastructure("lost");
  const RunResult result = both.routed.run(plan(), {});
  CHECK(result.fault.is_infrastructure());
  CHECK(result.fault.reason == "lost");
  CHECK(result.run_ms == 2);
}

}  // namespace bicrl

// The budget of a run, for the ranks of its placement.
#include "trainer/run/layout/memory_plan.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "common/usable_machine.h"
#include "policy/policy_config.h"
#include "tests/support/support.h"

using namespace bicrl;

namespace {

// Of rank `rank` of four, two of which train.
MemoryBudget budget_of(const std::vector<std::string>& overrides, int rank) {
  const std::filesystem::path source = bicrl::testing::source_path("");
  std::vector<std::string> all = {"tasks.synthetic.train_compositions=20",
                                  "tasks.synthetic.development_compositions=8", "trainer.placement=split",
                                  "trainer.generator_ranks=2"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const ConfigDocument document = ConfigDocument::from_file(source / "configs/quickstart.yaml", all);
  const RunSettings settings = RunSettings::from_config(document.root(), source / "configs");
  const RunInputs inputs = RunInputs::load(settings.policy, settings.tasks);
  return budget_of_run(settings, inputs, settings.trainer.placement(4), rank);
}

}  // namespace

TEST_CASE("who only generates holds whole weights in every sharding stage, and nothing of training") {
  const auto parameters =
      PolicyConfig::from_file(bicrl::testing::source_path("configs/quickstart/policy.json"))
          .parameter_count();
  for (const std::string stage : {"0", "1", "2", "3"}) {
    CAPTURE(stage);
    const MemoryBudget generator = budget_of({"trainer.sharding_stage=" + stage}, 3);
    CHECK(generator.held.weights_bytes == 4 * parameters);
    CHECK(generator.held.total_bytes() == generator.held.weights_bytes);
    CHECK(generator.pass.peak_bytes() == 0);
    CHECK(generator.decoding.cache_bytes > 0);
    const MemoryBudget trainer = budget_of({"trainer.sharding_stage=" + stage}, 0);
    CHECK(trainer.held.optimizer_bytes > 0);
    CHECK(trainer.pass.peak_bytes() > 0);
    CHECK(trainer.decoding.cache_bytes == 0);
  }
}

namespace {

constexpr int64_t kBeside_bytes = int64_t{4} << 30;  // of a driver and its libraries

// Settings of the quickstart for GPUs, with its inputs.
struct GpuRun {
  explicit GpuRun(const std::vector<std::string>& overrides = {}, const std::string& device = "cuda")
      : settings(settings_of(overrides, device)), inputs(RunInputs::load(settings.policy, settings.tasks)) {}

  static RunSettings settings_of(const std::vector<std::string>& overrides, const std::string& device) {
    const std::filesystem::path source = bicrl::testing::source_path("");
    std::vector<std::string> all = {"tasks.synthetic.train_compositions=20", "policy.device=" + device,
                                    "tasks.synthetic.development_compositions=8"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const ConfigDocument document = ConfigDocument::from_file(source / "configs/quickstart.yaml", all);
    return RunSettings::from_config(document.root(), source / "configs");
  }
  MemoryPlan plan(const Placement& placement, int64_t limit_bytes) const {
    return plan_memory(settings, inputs, placement, limit_bytes);
  }
  // With this form and the whole cache.
  MemoryBudget budget(int64_t stage, Recompute recompute, const Placement& placement) const {
    return budget_of_run(with_plan(settings, {.sharding = {stage}, .recompute = recompute}), inputs,
                         placement, 0);
  }

  RunSettings settings;
  RunInputs inputs;
};

}  // namespace

TEST_CASE("a run on the CPU is limited by what its control groups allow") {
  CHECK(memory_limit_bytes(at::kCPU) == static_cast<int64_t>(usable_memory_bytes()));
}

TEST_CASE("a memory plan takes the fastest form that fits both phases, and of GPUs alone") {
  const GpuRun run({"evaluation.tasks=0"});
  REQUIRE_FALSE(run.settings.trainer.sharding);
  REQUIRE_FALSE(run.settings.trainer.recompute);
  const Placement four = Placement::colocated(4);
  // Ample memory: nothing is divided, computed again or limited. On one rank nothing can be divided.
  const MemoryPlan ample = run.plan(four, int64_t{1} << 40);
  CHECK((ample.sharding.stage == 0 && ample.recompute == Recompute::kNone && ample.cache_tokens == 0));
  CHECK(run.plan(Placement::colocated(1), 1).sharding.stage == 0);
  const MemoryPlan on_cpu = GpuRun({}, "cpu").plan(four, 1);
  CHECK((on_cpu.sharding.stage == 0 && on_cpu.recompute == Recompute::kNone && on_cpu.cache_tokens == 0));
  // A byte less than what a form needs, with what a driver takes: something else that fits.
  for (int64_t stage = 0; stage < 3; ++stage) {
    const int64_t needs = run.budget(stage, Recompute::kNone, four).peak_bytes() + kBeside_bytes;
    for (const int64_t limit : {needs, needs - 1}) {
      CAPTURE(stage, limit);
      const MemoryPlan plan = run.plan(four, limit);
      const MemoryBudget budget = budget_of_run(with_plan(run.settings, plan), run.inputs, four, 0);
      CHECK(budget.peak_bytes() <= limit - kBeside_bytes);
      CHECK(budget.problem(1, 0, limit, "the GPU").empty());
    }
  }
  // What is asked for is kept, and refused by its budget.
  const MemoryPlan none_fits = run.plan(four, 1);
  CHECK((none_fits.sharding.stage == 3 && none_fits.recompute == Recompute::kFull));
  const GpuRun fixed({"trainer.sharding_stage=1", "trainer.recompute=selective"});
  const MemoryPlan asked = fixed.plan(four, 1);
  CHECK((asked.sharding.stage == 1 && asked.recompute == Recompute::kSelective));
}

TEST_CASE("a GPU keeps room beside tensors also where no form leaves what a driver usually takes") {
  constexpr int64_t kLeast_bytes = int64_t{3} << 29;
  const Placement four = Placement::colocated(4);
  const GpuRun run({"evaluation.tasks=0", "trainer.sharding_stage=1", "trainer.recompute=none"});
  const MemoryBudget whole = run.budget(1, Recompute::kNone, four);
  const auto fits = [&](int64_t limit) {
    return fitting_plan(run.settings, run.inputs, four, limit).has_value();
  };
  CHECK(fits(whole.peak_bytes() + kLeast_bytes));
  CHECK_FALSE(fits(whole.training_bytes() + kLeast_bytes - 1));
}

TEST_CASE("a cache that does not fit is limited to what the memory has room for, down to one request") {
  const Placement four = Placement::colocated(4);
  // Long responses, many at a time: generation needs most, and no other form leaves more for the cache.
  const std::vector<std::string> generating = {"evaluation.tasks=0",          "trainer.sharding_stage=1",
                                               "trainer.recompute=full",      "rollout.max_active=256",
                                               "rollout.max_new_tokens=1500", "stages.0.tasks_per_step=128"};
  const GpuRun run(generating);
  const MemoryBudget whole = run.budget(1, Recompute::kFull, four);
  REQUIRE(whole.generating_bytes() > whole.training_bytes());
  const int64_t enough = whole.generating_bytes() + kBeside_bytes;
  CHECK(run.plan(four, enough).cache_tokens == 0);
  const MemoryPlan limited = run.plan(four, enough - 1);
  CHECK(limited.cache_tokens > 0);
  CHECK((limited.cache_share < 1 && limited.cache_share > 0.9));
  int64_t before = limited.cache_tokens;
  for (const int64_t share : {90, 70, 50}) {
    CAPTURE(share);
    const int64_t limit = whole.training_bytes() + kBeside_bytes +
                          (whole.generating_bytes() - whole.training_bytes()) * share / 100;
    const MemoryPlan plan = run.plan(four, limit);
    const RunSettings settings = with_plan(run.settings, plan);
    CHECK(plan.cache_tokens < before);
    before = plan.cache_tokens;
    CHECK(budget_of_run(settings, run.inputs, four, 0).peak_bytes() <= limit - kBeside_bytes);
    for (const StageSettings& stage : settings.stages)
      CHECK(stage.decoding.cache_tokens == plan.cache_tokens);
  }
  // A limit of the settings stays.
  std::vector<std::string> own = {"rollout.cache_tokens=4096"};
  own.insert(own.end(), generating.begin(), generating.end());
  const GpuRun named(own);
  CHECK(with_plan(named.settings, named.plan(four, enough)).stages[0].decoding.cache_tokens == 4096);
}

TEST_CASE("the failed attempt that a repair shows is in the budget") {
  const auto budget = [](const std::string& probability, int rank) {
    return budget_of({"evaluation.tasks=0", "warm_up.steps=0", "curation.repair.probability=" + probability},
                     rank);
  };
  CHECK(budget("0.1", 0).pass.peak_bytes() > budget("0", 0).pass.peak_bytes());
  CHECK(budget("0.1", 3).decoding.cache_bytes > budget("0", 3).decoding.cache_bytes);
}

TEST_CASE("an evaluation that needs more than the stages is in the budget") {
  const auto cache_bytes = [](const std::string& override) {
    return budget_of({override}, 3).decoding.cache_bytes;
  };
  const int64_t stages_alone = cache_bytes("evaluation.tasks=0");
  CHECK(cache_bytes("evaluation.max_new_tokens=96") == stages_alone);
  CHECK(cache_bytes("evaluation.max_new_tokens=700") ==
        stages_alone);  // eight tasks, of which each rank has four
  // With stages that hardly generate.
  const auto with_few = [](const std::string& override) {
    std::vector<std::string> all = {override};
    for (const char* stage : {"stages.0", "stages.1", "stages.2"})
      for (const char* few : {".tasks_per_step=1", ".samples_per_task=2", ".advantage=zscore"})
        all.push_back(concat(stage, few));
    return budget_of(all, 3).decoding.cache_bytes;
  };
  CHECK(with_few("evaluation.max_new_tokens=900") > with_few("evaluation.tasks=0"));
}

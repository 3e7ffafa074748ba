// The budget of a run, for the ranks of its placement.
#include "trainer/run/run_memory.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

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

TEST_CASE("the sharding stage is the first that fits, and of GPUs alone") {
  const std::filesystem::path source = bicrl::testing::source_path("");
  const auto settings_of = [&](const std::string& device) {
    const ConfigDocument document =
        ConfigDocument::from_file(source / "configs/quickstart.yaml",
                                  {"tasks.synthetic.train_compositions=20", "policy.device=" + device,
                                   "tasks.synthetic.development_compositions=8"});
    return RunSettings::from_config(document.root(), source / "configs");
  };
  RunSettings settings = settings_of("cuda");
  REQUIRE_FALSE(settings.trainer.sharding);
  const RunInputs inputs = RunInputs::load(settings.policy, settings.tasks);
  const Placement four = settings.trainer.placement(4);
  int64_t needs_bytes[4];
  for (int64_t stage = 0; stage <= 3; ++stage) {
    RunSettings fixed = settings;
    fixed.trainer.sharding = Sharding{stage};
    needs_bytes[stage] = budget_of_run(fixed, inputs, four, 0).peak_bytes();
  }
  REQUIRE(needs_bytes[1] < needs_bytes[0]);
  REQUIRE(needs_bytes[3] < needs_bytes[1]);
  const int64_t least_bytes = *std::ranges::min_element(needs_bytes);
  for (const int64_t limit_bytes : needs_bytes) {
    const auto first = std::ranges::find_if(needs_bytes, [&](int64_t bytes) { return bytes <= limit_bytes; });
    CHECK(sharding_that_fits(settings, inputs, four, limit_bytes).stage == first - std::begin(needs_bytes));
  }
  CHECK(sharding_that_fits(settings, inputs, four, least_bytes - 1).stage == 3);  // refused by its budget
  CHECK(sharding_that_fits(settings, inputs, settings.trainer.placement(1), 1).stage == 0);
  CHECK(sharding_that_fits(settings_of("cpu"), inputs, four, 1).stage == 0);
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

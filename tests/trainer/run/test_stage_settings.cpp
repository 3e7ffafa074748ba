// What a stage reads of how its updates are made up, from the quickstart's file, which has a divergence to
// the initial policy and imitation.
#include "trainer/run/run_settings.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/support.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr size_t kEndToEnd = 1;  // of 16 steps, with two batches that are imitated in each

StageSettings stage_with(const std::vector<std::string>& overrides) {
  const std::filesystem::path source = bicrl::testing::source_path("");
  const ConfigDocument document = ConfigDocument::from_file(source / "configs/quickstart.yaml", overrides);
  return RunSettings::from_config(document.root(), source / "configs").stages.at(kEndToEnd);
}

void refused(const std::vector<std::string>& overrides, const std::string& key, const std::string& reason) {
  CHECK_THROWS_WITH(stage_with(overrides), ContainsSubstring(key + ": ") && ContainsSubstring(reason));
}

}  // namespace

TEST_CASE("a stage drops groups of equal rewards and scales no step by default") {
  const StageSettings stage = stage_with({});
  CHECK_FALSE(stage.advantage.keeps_equal);
  CHECK_FALSE(stage.updater.scales_steps);
  CHECK(stage.updater.updates_per_step == 3);
  CHECK(stage.updater.learning_rate.total_updates == 48);
}

TEST_CASE("groups of equal rewards are kept where a divergence acts on them") {
  const std::string keep = "stages.1.zero_variance=keep";
  CHECK(stage_with({keep}).advantage.keeps_equal);
  refused({keep, "stages.1.update.kl_weight=0"}, "zero_variance", "update.kl_weight: 0");
  const std::string behaviour = "stages.1.update.kl_reference=behaviour";
  refused({keep, behaviour}, "zero_variance", "one update a step");
  CHECK(stage_with({keep, behaviour, "stages.1.update.epochs=2"}).advantage.keeps_equal);
  CHECK(stage_with({keep, behaviour, "stages.1.update.responses_per_update=64"}).advantage.keeps_equal);
  refused({"stages.1.zero_variance=hold"}, "zero_variance", "drop, keep");
}

TEST_CASE("schedule of a stage with refill has room for the groups that are kept") {
  const std::string refill = "curation.refill={informative_groups: 8, at_most: 48}",
                    minibatches = "stages.1.update.responses_per_update=64";
  CHECK(stage_with({refill, minibatches}).updater.updates_per_step == 1 + 2);
  CHECK(stage_with({refill, minibatches, "stages.1.zero_variance=keep"}).updater.updates_per_step == 7 + 2);
}

TEST_CASE("steps are scaled where a stage asks for it") {
  CHECK(stage_with({"stages.1.update.step_scale=informative"}).updater.scales_steps);
  refused({"stages.1.update.step_scale=some"}, "step_scale", "none, informative");
}

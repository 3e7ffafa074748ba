#include "reward/stage_rewards.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

class Files {
 public:
  std::filesystem::path add(const std::string& name, const std::string& yaml) {
    write_file_atomically(folder_.path() / name, yaml);
    return folder_.path() / name;
  }

 private:
  testing::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a stage is rewarded by its own file or by the run's") {
  Files files;
  const auto binary = files.add("binary.yaml", "rule: binary\n");
  const auto profile = files.add("profile.yaml", "rule: profile\nclock: model\n");
  const StageRewards rewards(binary, {"", profile, ""});
  CHECK(rewards.of_stage(0).rule_name() == "binary");
  CHECK(rewards.of_stage(1).rule_name() == "profile");
  CHECK(rewards.of_stage(2).rule_name() == "binary");
  CHECK(rewards.rule_names() == "binary, profile");
  CHECK(rewards.uses_times());
  CHECK(rewards.clock() == "model");
  CHECK(rewards.timed_file() == profile);
  CHECK(StageRewards::basis(rewards.of_stage(0)) == StageRewards::basis(rewards.of_stage(2)));
  CHECK(StageRewards::basis(rewards.of_stage(0)) != StageRewards::basis(rewards.of_stage(1)));
  CHECK_THAT(rewards.resolved_yaml(), ContainsSubstring("---\n# stages.1\nrule: profile"));
}

TEST_CASE("stages that are rewarded alike have one file") {
  Files files;
  const auto binary = files.add("binary.yaml", "rule: binary\n");
  const StageRewards rewards(binary, {"", binary});
  CHECK(rewards.resolved_yaml() == RewardFunction::from_file(binary).resolved_yaml());
  CHECK(rewards.rule_names() == "binary");
  CHECK(rewards.clock().empty());
  CHECK(StageRewards("", {}).first().rule_name() == "binary");
}

TEST_CASE("the rewards of a run take times by one clock") {
  Files files;
  const auto modelled = files.add("modelled.yaml", "rule: speedup\nclock: model\n");
  const auto measured = files.add("measured.yaml", "rule: speedup\n");
  CHECK_THROWS_WITH(StageRewards("", {modelled, measured}), ContainsSubstring("measured.yaml") &&
                                                                ContainsSubstring("modelled.yaml") &&
                                                                ContainsSubstring("one clock"));
}

}  // namespace bicrl

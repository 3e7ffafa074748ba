// The rewards of a run's stages: one for all, or one that a stage has for itself. Immutable once made.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "reward/reward_rule.h"

namespace bicrl {

class StageRewards {
 public:
  // `of_stages`: the files of the stages in order; an empty path stands for `common`. Without stages there is
  // nothing to reward, and `common` may be empty. Throws InputError for rewards whose times come from
  // different clocks: a verifier has one.
  StageRewards(const std::filesystem::path& common, const std::vector<std::filesystem::path>& of_stages);

  const RewardFunction& of_stage(size_t index) const { return functions_.at(index); }
  // That of the first stage; any where there is no stage.
  const RewardFunction& first() const { return functions_.front(); }
  bool uses_times() const;
  std::string clock() const;  // whose times count; empty if none do
  const std::filesystem::path& timed_file() const { return timed_file_; }  // the first of those; else empty
  // Equal for equal rewards: rewards of another basis compare with nothing.
  static std::string basis(const RewardFunction& reward);

  // For a person: "profile", or "binary, profile" in the order of the stages.
  std::string rule_names() const;
  // The file with every parameter; where stages differ, one document for each stage.
  std::string resolved_yaml() const;

 private:
  bool differ() const;
  std::filesystem::path timed_file_;
  std::vector<RewardFunction> functions_;  // one a stage, at least one
};

}  // namespace bicrl

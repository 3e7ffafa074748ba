// Rule `pass_rate`: an incorrect program that is right in some trials is worth more than one that is right in
// none, yet less than 0 (MusaCoder: -1 for a failure, -0.5 + 0.5 q for a pass rate 0 < q < 1, and
// 1 + weight * min(max(s - 1, 0), cap) for a correct program). Only values that were compared earn a part:
// a program refused for another reason, such as an answer that no kernel gave, has failed whatever its trials
// say.
#include <algorithm>

#include "reward/reward_rule.h"

namespace bicrl {
namespace {

class PassRateRule : public RewardRule {
 public:
  explicit PassRateRule(const ConfigSection& parameters)
      : failed_(parameters.real("failed", -1, -kMaxReward, kMaxReward)),
        partial_base_(parameters.real("partial_base", -0.5, -kMaxReward, kMaxReward)),
        partial_weight_(parameters.real("partial_weight", 0.5, 0, kMaxReward)),
        correct_(parameters.real("correct", 1, -kMaxReward, kMaxReward)),
        speedup_weight_(parameters.real("speedup_weight", 0, 0, kMaxReward)),
        min_speedup_(parameters.real("min_speedup", 1.1, 1, kMaxReward)),
        max_gain_(parameters.real("max_gain", 2, 0, kMaxReward)) {
    if (failed_ > partial_base_) parameters.reject("failed", "must not be greater than 'partial_base'");
    if (partial_base_ + partial_weight_ > correct_)
      parameters.reject("partial_weight", "'partial_base' + 'partial_weight' must not exceed 'correct'");
    for (const char* key : {"min_speedup", "max_gain"})
      if (parameters.has(key) && !parameters.has("speedup_weight"))
        parameters.reject(key, "has no effect without 'speedup_weight', which is 0 unless it is set");
    if (failed_ == correct_ && speedup_weight_ == 0)
      parameters.reject("failed", "must be less than 'correct', or 'speedup_weight' above 0");
    if (speedup_weight_ > 0 && max_gain_ == 0) parameters.reject("max_gain", kNothingOfSpeed);
  }

  std::vector<RewardTerm> score(const Verdict& verdict) const override {
    const bool correct = earns_correctness(verdict);
    std::vector<RewardTerm> terms = {{"pass_rate", correct ? correct_ : partial_credit(verdict)}};
    if (uses_times())
      terms.push_back({time_term(verdict, "speedup_gain"), correct ? speedup_weight_ * gain(verdict) : 0.0});
    return terms;
  }

  bool uses_times() const override { return speedup_weight_ > 0; }
  double min_deviation() const override { return speedup_weight_ * kSpeedupNoise; }

 private:
  double partial_credit(const Verdict& verdict) const {
    const bool compared = verdict.outcome == Outcome::kGraded && !verdict.correct;
    if (!compared || verdict.trials_passed <= 0 || verdict.trials_passed >= verdict.trials) return failed_;
    return partial_base_ + partial_weight_ * verdict.pass_rate();
  }

  double gain(const Verdict& verdict) const {
    const double speedup = trusted_speedup(verdict);
    return speedup < min_speedup_ ? 0 : std::min(speedup - 1, max_gain_);
  }

  double failed_;
  double partial_base_;
  double partial_weight_;
  double correct_;
  double speedup_weight_;
  double min_speedup_;
  double max_gain_;
};

const RewardRuleRegistration kPassRateRegistered("pass_rate", [](const ConfigSection& p) {
  return std::make_unique<PassRateRule>(p);
});

}  // namespace
}  // namespace bicrl

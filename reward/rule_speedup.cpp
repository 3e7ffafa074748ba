// Rule `speedup`: a part for correctness and one that grows with the speed-up over the eager reference
// (Kevin: 0.3 c + s). Speed counts only if the gain is above the noise. The cap keeps one outlier from
// dominating its group.
#include <algorithm>

#include "reward/reward_rule.h"

namespace bicrl {
namespace {

class SpeedupRule : public RewardRule {
 public:
  explicit SpeedupRule(const ConfigSection& parameters)
      : correct_(parameters.real("correct", 0.3, 0, kMaxReward)),
        weight_(parameters.real("speedup_weight", 1, 0, kMaxReward)),
        min_speedup_(parameters.real("min_speedup", 1.05, 0, kMaxReward)),
        max_speedup_(parameters.real("max_speedup", 3, 0, kMaxReward)) {
    if (max_speedup_ < min_speedup_) parameters.reject("max_speedup", "must not be less than 'min_speedup'");
    if (weight_ > 0 && max_speedup_ == 0) parameters.reject("max_speedup", kNothingOfSpeed);
    if (correct_ == 0 && weight_ == 0) parameters.reject("correct", kNothingEarned);
  }

  std::vector<RewardTerm> score(const Verdict& verdict) const override {
    const bool correct = earns_correctness(verdict);
    std::vector<RewardTerm> terms = {{"correct", correct ? correct_ : 0.0}};
    if (uses_times())
      terms.push_back({time_term(verdict, "speedup"), correct ? weight_ * counted_speedup(verdict) : 0.0});
    return terms;
  }

  bool uses_times() const override { return weight_ > 0; }
  double min_deviation() const override { return weight_ * kSpeedupNoise; }

 private:
  double counted_speedup(const Verdict& verdict) const {
    const double speedup = trusted_speedup(verdict);
    return speedup < min_speedup_ ? 0 : std::min(speedup, max_speedup_);
  }

  double correct_;
  double weight_;
  double min_speedup_;
  double max_speedup_;
};

const RewardRuleRegistration kSpeedupRegistered("speedup", [](const ConfigSection& p) {
  return std::make_unique<SpeedupRule>(p);
});

}  // namespace
}  // namespace bicrl

// Rule `profile`: correctness and capped speed-up (Dr.Kernel: c + c min(s, 3), without its third term, the
// share of the work that the program's own kernels do: here no other kernels do any).
#include <algorithm>

#include "reward/reward_rule.h"

namespace bicrl {
namespace {

class ProfileRule : public RewardRule {
 public:
  explicit ProfileRule(const ConfigSection& parameters)
      : correct_(parameters.real("correct", 1, 0, kMaxReward)),
        speedup_weight_(parameters.real("speedup_weight", 1, 0, kMaxReward)),
        min_speedup_(parameters.real("min_speedup", 0, 0, kMaxReward)),
        max_speedup_(parameters.real("max_speedup", 3, 0, kMaxReward)) {
    if (max_speedup_ < min_speedup_) parameters.reject("max_speedup", "must not be less than 'min_speedup'");
    if (speedup_weight_ > 0 && max_speedup_ == 0) parameters.reject("max_speedup", kNothingOfSpeed);
    if (correct_ == 0 && speedup_weight_ == 0) parameters.reject("correct", kNothingEarned);
  }

  std::vector<RewardTerm> score(const Verdict& verdict) const override {
    const double correct = earns_correctness(verdict) ? 1 : 0;
    std::vector<RewardTerm> terms = {{"correct", correct * correct_}};
    if (uses_times())
      terms.push_back({time_term(verdict, "speedup"), correct * speedup_weight_ * counted_speedup(verdict)});
    return terms;
  }

  bool uses_times() const override { return speedup_weight_ > 0; }
  double min_deviation() const override { return speedup_weight_ * kSpeedupNoise; }

 private:
  double counted_speedup(const Verdict& verdict) const {
    const double speedup = trusted_speedup(verdict);
    return speedup < min_speedup_ ? 0 : std::min(speedup, max_speedup_);
  }

  double correct_;
  double speedup_weight_;
  double min_speedup_;
  double max_speedup_;
};

const RewardRuleRegistration kProfileRegistered("profile", [](const ConfigSection& p) {
  return std::make_unique<ProfileRule>(p);
});

}  // namespace
}  // namespace bicrl

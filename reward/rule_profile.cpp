// Rule `profile`: correctness, capped speed-up, and the share of the work that the program's own kernels do
// (Dr.Kernel: c + c min(s, 3) + c PR). If framework operators are allowed, a policy learns to replace the
// trivial part of a module only; the third term makes the part that it replaces count. It has no weight
// unless the file gives it one.
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
        max_speedup_(parameters.real("max_speedup", 3, 0, kMaxReward)),
        coverage_weight_(parameters.real("coverage_weight", 0, 0, kMaxReward)) {
    if (max_speedup_ < min_speedup_) parameters.reject("max_speedup", "must not be less than 'min_speedup'");
    if (speedup_weight_ > 0 && max_speedup_ == 0) parameters.reject("max_speedup", kNothingOfSpeed);
    if (coverage_weight_ > 0) needs(parameters, "coverage_weight", Unmeasured::kPartialCoverage);
  }

  std::vector<RewardTerm> score(const Verdict& verdict) const override {
    const double correct = earns_correctness(verdict, false) ? 1 : 0;
    std::vector<RewardTerm> terms = {{"correct", correct * correct_}};
    if (uses_times())
      terms.push_back({time_term(verdict, "speedup"), correct * speedup_weight_ * counted_speedup(verdict)});
    if (coverage_weight_ > 0)
      terms.push_back({"coverage", correct * coverage_weight_ * counted_coverage(verdict)});
    return terms;
  }

  bool uses_times() const override { return speedup_weight_ > 0; }
  double min_deviation() const override { return speedup_weight_ * kSpeedupNoise; }

 private:
  double counted_speedup(const Verdict& verdict) const {
    const double speedup = trusted_speedup(verdict, /*native_only=*/false);
    return speedup < min_speedup_ ? 0 : std::min(speedup, max_speedup_);
  }

  static double counted_coverage(const Verdict& verdict) {
    return verdict.coverage > 0 ? std::min(verdict.coverage, 1.0) : 0;
  }

  double correct_;
  double speedup_weight_;
  double min_speedup_;
  double max_speedup_;
  double coverage_weight_;
};

const RewardRuleRegistration kRegistered("profile", [](const ConfigSection& p) {
  return std::make_unique<ProfileRule>(p);
});

}  // namespace
}  // namespace bicrl

// Rule `milestone`: a ladder instead of a slope (CUDA Agent: -1 incorrect, 1 correct, 2 also faster than
// eager PyTorch, 3 also faster than torch.compile, each by more than 5 %). Steps keep one extraordinary time
// from dominating its group; the paper reports far better results with them than with the raw speed-up. The
// last step is worth as much as the one before unless the file says more.
#include "reward/reward_rule.h"

namespace bicrl {
namespace {

class MilestoneRule : public RewardRule {
 public:
  explicit MilestoneRule(const ConfigSection& parameters)
      : incorrect_(value(parameters, "incorrect", -1)),
        correct_(value(parameters, "correct", 1)),
        faster_than_eager_(value(parameters, "faster_than_eager", 2)),
        faster_than_both_(value(parameters, "faster_than_both", faster_than_eager_)),
        margin_(parameters.real("margin", 0.05, 0, kMaxReward)) {
    parameters.renamed("wrong", "incorrect");
    if (incorrect_ >= correct_) parameters.reject("incorrect", "must be less than 'correct'");
    if (faster_than_eager_ < correct_)
      parameters.reject("faster_than_eager", "must not be less than 'correct'");
    if (faster_than_both_ < faster_than_eager_)
      parameters.reject("faster_than_both", "must not be less than 'faster_than_eager'");
    if (faster_than_both_ > faster_than_eager_)
      needs(parameters, "faster_than_both", OptionalFigure::kTorchCompileTime);
  }

  std::vector<RewardTerm> score(const Verdict& verdict) const override {
    const bool correct = earns_correctness(verdict);
    const bool beats_eager = correct && is_gain(trusted_speedup(verdict));
    const bool beats_both = beats_eager && is_gain(trusted_speedup_over_torch_compile(verdict));
    std::vector<RewardTerm> terms = {{"correct", correct ? correct_ : incorrect_}};
    if (const double step = faster_than_eager_ - correct_; step > 0)
      terms.push_back({time_term(verdict, "faster_than_eager"), beats_eager ? step : 0});
    if (const double step = faster_than_both_ - faster_than_eager_; step > 0)
      terms.push_back({time_term(verdict, "faster_than_both"), beats_both ? step : 0});
    return terms;
  }

  bool uses_times() const override { return faster_than_both_ > correct_; }
  double min_deviation() const override { return 0; }

 private:
  static double value(const ConfigSection& parameters, const char* key, double fallback) {
    return parameters.real(key, fallback, -kMaxReward, kMaxReward);
  }
  bool is_gain(double speedup) const { return speedup > 1 + margin_; }

  double incorrect_;
  double correct_;
  double faster_than_eager_;
  double faster_than_both_;
  double margin_;
};

const RewardRuleRegistration kMilestoneRegistered("milestone", [](const ConfigSection& p) {
  return std::make_unique<MilestoneRule>(p);
});

}  // namespace
}  // namespace bicrl

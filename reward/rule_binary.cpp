// Rule `binary`: one value for a correct program, another for everything else (DICE: 1 and 0, no term for
// speed).
#include "reward/reward_rule.h"

namespace bicrl {
namespace {

class BinaryRule : public RewardRule {
 public:
  explicit BinaryRule(const ConfigSection& parameters)
      : correct_(parameters.real("correct", 1, -kMaxReward, kMaxReward)),
        incorrect_(parameters.real("incorrect", 0, -kMaxReward, kMaxReward)) {
    parameters.renamed("wrong", "incorrect");
    if (incorrect_ >= correct_) parameters.reject("incorrect", "must be less than 'correct'");
  }

  std::vector<RewardTerm> score(const Verdict& verdict) const override {
    return {{"correct", earns_correctness(verdict) ? correct_ : incorrect_}};
  }

  double min_deviation() const override { return 0; }

 private:
  double correct_;
  double incorrect_;
};

const RewardRuleRegistration kBinaryRegistered("binary", [](const ConfigSection& p) {
  return std::make_unique<BinaryRule>(p);
});

}  // namespace
}  // namespace bicrl

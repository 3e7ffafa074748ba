// Rule `progress`: a ladder below correctness, for policies that rarely compile, whose groups otherwise all
// fail alike and teach nothing. A program earns the step it has come to: it came to the compiler, it
// compiled, its host part ran, its values were compared. What only seems to answer (a framework operator in a
// kernel's place, a broken protocol, a success that was not confirmed) has failed, however far it came.
#include <algorithm>
#include <array>
#include <string_view>

#include "reward/reward_rule.h"

namespace bicrl {
namespace {

constexpr std::array<std::string_view, 7> kNoAttempt = {"library_call", "host_read", "framework_fallback",
                                                        "dead_kernel",  "protocol",  "specialised",
                                                        "unconfirmed"};

class ProgressRule : public RewardRule {
 public:
  explicit ProgressRule(const ConfigSection& parameters) {
    double before = -kMaxReward;
    const char* key_before = "";
    for (Step& step : steps_) {
      step.value = parameters.real(step.key, step.value, -kMaxReward, kMaxReward);
      if (step.value < before)
        parameters.reject(step.key, concat("must not be less than '", key_before, "'"));
      before = step.value;
      key_before = step.key;
    }
    if (correct().value <= steps_[kRan].value) parameters.reject("correct", "must be greater than 'ran'");
  }

  std::vector<RewardTerm> score(const Verdict& verdict) const override {
    return {{"progress", earns_correctness(verdict) ? correct().value : steps_[step_of(verdict)].value}};
  }

  double min_deviation() const override { return 0; }

 private:
  struct Step {
    const char* key;
    double value;
  };
  static constexpr size_t kFailed = 0, kExtracted = 1, kCompiled = 2, kRecorded = 3, kRan = 4;

  // `reached` names the part in which a program failed, so the step below it is what it has done. Python that
  // fails before it compiles anything has reached "record", too. It earns nothing: a cold policy that was
  // paid for it learnt to write Python that does not parse, which is easier than what compiles.
  static size_t step_of(const Verdict& verdict) {
    if (std::ranges::find(kNoAttempt, verdict.fault_class) != kNoAttempt.end()) return kFailed;
    if (verdict.outcome == Outcome::kGraded || verdict.trials_passed > 0 || verdict.reached == "time")
      return kRan;
    if (verdict.reached == "extract" || verdict.reached.empty()) return kFailed;
    if (verdict.reached == "compile") return kExtracted;
    if (!verdict.compiled) return kFailed;
    return verdict.reached == "record" ? kCompiled : kRecorded;
  }

  const Step& correct() const { return steps_.back(); }

  std::array<Step, 6> steps_{{{"failed", 0},
                              {"extracted", 0.05},
                              {"compiled", 0.1},
                              {"recorded", 0.15},
                              {"ran", 0.2},
                              {"correct", 1}}};
};

const RewardRuleRegistration kProgressRegistered("progress", [](const ConfigSection& p) {
  return std::make_unique<ProgressRule>(p);
});

}  // namespace
}  // namespace bicrl

// Verdicts that rules of reward are tried on, and what a rule makes of them.
#pragma once
#include <string>

#include "common/error.h"
#include "reward/reward_rule.h"

namespace bicrl::testing {

inline Verdict graded(bool correct, int passed = 0, int trials = 0) {
  Verdict v;
  v.outcome = Outcome::kGraded;
  v.compiled = true;
  v.correct = correct;
  v.fault_class = correct ? "" : "wrong_value";
  v.trials = trials;
  v.trials_passed = passed;
  return v;
}

// A correct program so many times as fast as eager execution, and as torch.compile (0: not timed).
inline Verdict timed(double over_eager, double over_torch_compile = 0) {
  Verdict v = graded(true, 5, 5);
  v.candidate_ms = 2;
  v.eager_ms = 2 * over_eager;
  v.torch_compile_ms = 2 * over_torch_compile;
  v.clock = "measured";
  return v;
}

inline RewardFunction rule_of(const std::string& yaml, VerdictOrigin origin = VerdictOrigin::kVerifier) {
  return RewardFunction::from_text(yaml, "reward.yaml", origin);
}

inline double value_of(const RewardFunction& rule, const Verdict& verdict) {
  return rule.evaluate(verdict, false).value;
}

inline std::string refusal_of(const std::string& yaml, VerdictOrigin origin = VerdictOrigin::kVerifier) {
  try {
    rule_of(yaml, origin);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace bicrl::testing

// A reward YAML, applied to verdicts of every kind.
#include <cmath>

#include "reward/reward_rule.h"
#include "tests/fuzz/fuzz_target.h"

namespace bicrl::fuzz {
namespace {

std::vector<Verdict> verdicts() {
  Verdict fast;
  fast.outcome = Outcome::kGraded;
  fast.reached = "compare";
  fast.compiled = fast.correct = true;
  fast.trials = fast.trials_passed = 3;
  fast.candidate_ms = 1e-3;
  fast.eager_ms = 10;
  fast.clock = "measured";
  Verdict incorrect = fast;
  incorrect.correct = false;
  incorrect.fault_class = "wrong_value";
  incorrect.trials_passed = 1;
  incorrect.max_error_ratio = std::numeric_limits<double>::infinity();
  Verdict broken;
  broken.outcome = Outcome::kCandidateFault;
  broken.fault_class = "compile";
  broken.reached = "compile";
  return {fast, incorrect, broken, Verdict{}};
}

}  // namespace
}  // namespace bicrl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  const std::string yaml(fuzz::as_text(data, size));
  fuzz::accepts([&] {
    // Stored verdicts take every option.
    const auto reward = RewardFunction::from_text(yaml, "fuzz.yaml", VerdictOrigin::kStored);
    for (const Verdict& verdict : fuzz::verdicts())
      for (const bool truncated : {false, true}) {
        const Reward worth = reward.evaluate(verdict, truncated);
        BICRL_CHECK(std::isfinite(worth.value), yaml);
        BICRL_CHECK(!worth.masked || worth.value == 0, yaml);
      }
    const auto again =
        RewardFunction::from_text(reward.resolved_yaml(), "resolved.yaml", VerdictOrigin::kStored);
    BICRL_CHECK(again.resolved_yaml() == reward.resolved_yaml(), yaml);
  });
  return 0;
}

// The verifier's self-check at start: it grades a correct and an incorrect program of one task as it grades
// any candidate, so that anything missing in a box is found before a verdict counts. Stateless.
#pragma once
#include <functional>
#include <stop_token>

#include "sandbox/verifier/pipeline.h"

namespace bicrl {

struct CanaryTimes {
  // With work that is done once: starting the interpreters, the reference, the first boxes.
  double correct_ms = 0;
  double incorrect_ms = 0;
};

// Throws Error(kUnavailable), with the verdict's diagnostics and the likely remedy, unless the correct
// program is graded as correct and the incorrect one as `wrong_value`; Error(kInterrupted) if `stop` came
// first.
CanaryTimes run_canaries(Pipeline& pipeline, std::stop_token stop = {});

// The same with any verifier.
CanaryTimes check_canaries(const std::function<Verdict(const VerificationRequest&)>& verify,
                           std::stop_token stop = {});

}  // namespace bicrl

// The verifier's check of itself at start: a task with one right and one wrong program goes the way of any
// candidate, so that whatever is missing in a box is found before anything relies on a verdict. Stateless.
#pragma once
#include <functional>
#include <stop_token>

#include "sandbox/verifier/pipeline.h"

namespace bicrl {

struct CanaryTimes {
  double right_ms =
      0;  // with what is done once: waiting for the interpreters, the reference, the first boxes
  double wrong_ms = 0;
};

// Throws Error(kUnavailable), with the verdict's diagnostics and the likely remedy, unless the right program
// is graded correct and the wrong one `wrong_value`; Error(kInterrupted) if `stop` came first.
CanaryTimes run_canaries(Pipeline& pipeline, std::stop_token stop = {});

// The same with any verifier.
CanaryTimes check_canaries(const std::function<Verdict(const VerificationRequest&)>& verify,
                           std::stop_token stop = {});

}  // namespace bicrl

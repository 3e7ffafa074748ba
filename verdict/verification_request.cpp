#include "verdict/verification_request.h"

#include "common/error.h"

namespace bicrl {

std::string_view to_string(TolerancePolicy policy) {
  switch (policy) {
    case TolerancePolicy::kOpen:
      return "open";
    case TolerancePolicy::kProfile:
      return "profile";
    case TolerancePolicy::kTf32:
      return "tf32";
    case TolerancePolicy::kPublished:
      return "published";
  }
  BICRL_CHECK(false, "tolerance ", static_cast<int>(policy));
  return {};
}

std::optional<TolerancePolicy> parse_tolerance(std::string_view name) {
  for (const TolerancePolicy policy : {TolerancePolicy::kOpen, TolerancePolicy::kProfile,
                                       TolerancePolicy::kTf32, TolerancePolicy::kPublished})
    if (to_string(policy) == name) return policy;
  return std::nullopt;
}

VerificationProtocol VerificationProtocol::or_else(const VerificationProtocol& defaults) const {
  VerificationProtocol filled = *this;
  if (tolerance == TolerancePolicy::kOpen) filled.tolerance = defaults.tolerance;
  if (trials == 0) filled.trials = defaults.trials;
  filled.measure_time = measure_time || defaults.measure_time;
  return filled;
}

std::string to_string(const VerificationProtocol& protocol) {
  return concat("tolerance ", to_string(protocol.tolerance), ", ", protocol.trials, " trials",
                protocol.measure_time ? ", times" : "");
}

std::string request_problem(const VerificationRequest& request) {
  if (request.pytorch_code.empty()) return "task.pytorch_code is empty";
  const VerificationProtocol& p = request.protocol;
  if (p.trials < 0 || p.trials > kMaxTrials)
    return concat("protocol.trials is ", p.trials, ", not within 0 to ", kMaxTrials);
  return {};
}

}  // namespace bicrl

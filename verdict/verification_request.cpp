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

std::string_view to_string(SizePolicy policy) {
  switch (policy) {
    case SizePolicy::kOpen:
      return "open";
    case SizePolicy::kFitting:
      return "fitting";
    case SizePolicy::kOwn:
      return "own";
    case SizePolicy::kReduced:
      return "reduced";
  }
  BICRL_CHECK(false, "size policy ", static_cast<int>(policy));
  return {};
}

std::optional<SizePolicy> parse_size_policy(std::string_view name) {
  for (const SizePolicy policy :
       {SizePolicy::kOpen, SizePolicy::kFitting, SizePolicy::kOwn, SizePolicy::kReduced})
    if (to_string(policy) == name) return policy;
  return std::nullopt;
}

std::string_view to_string(SpecialisedPolicy policy) {
  switch (policy) {
    case SpecialisedPolicy::kOpen:
      return "open";
    case SpecialisedPolicy::kIncorrect:
      return "wrong";
    case SpecialisedPolicy::kMask:
      return "mask";
  }
  BICRL_CHECK(false, "policy of specialised programs ", static_cast<int>(policy));
  return {};
}

std::optional<SpecialisedPolicy> parse_specialised_policy(std::string_view name) {
  for (const SpecialisedPolicy policy :
       {SpecialisedPolicy::kOpen, SpecialisedPolicy::kIncorrect, SpecialisedPolicy::kMask})
    if (to_string(policy) == name) return policy;
  return std::nullopt;
}

std::string_view config_name(SpecialisedPolicy policy) {
  return policy == SpecialisedPolicy::kIncorrect ? "incorrect" : to_string(policy);
}

std::optional<SpecialisedPolicy> parse_config_name(std::string_view name) {
  for (const SpecialisedPolicy policy :
       {SpecialisedPolicy::kOpen, SpecialisedPolicy::kIncorrect, SpecialisedPolicy::kMask})
    if (config_name(policy) == name) return policy;
  return std::nullopt;
}

VerificationProtocol VerificationProtocol::or_else(const VerificationProtocol& defaults) const {
  VerificationProtocol filled = *this;
  if (tolerance == TolerancePolicy::kOpen) filled.tolerance = defaults.tolerance;
  if (trials == 0) filled.trials = defaults.trials;
  if (size == SizePolicy::kOpen) filled.size = defaults.size;
  if (specialised == SpecialisedPolicy::kOpen) filled.specialised = defaults.specialised;
  filled.measure_time = measure_time || defaults.measure_time;
  return filled;
}

std::string to_string(const VerificationProtocol& protocol) {
  return concat("tolerance ", to_string(protocol.tolerance), ", ", protocol.trials, " trials, size ",
                to_string(protocol.size), ", specialised ", to_string(protocol.specialised),
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

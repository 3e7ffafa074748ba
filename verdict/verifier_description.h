// A verifier's description of itself. Plain values.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "verdict/verification_request.h"

namespace bicrl {

// Of the messages and of what verdicts mean: raised if either changes.
inline constexpr const char* kProtocolVersion = "8";

struct VerifierDescription {
  std::string address;  // where it was asked; not part of the answer
  std::string backend;  // what runs candidates, with the versions of all that a verdict depends on
  std::string protocol_version;
  int workers = 0;
  std::vector<std::string> sandbox_features;
  std::vector<std::string> missing_features;  // with the reason
  int64_t verified = 0;
  int64_t cache_hits = 0;
  VerificationProtocol protocol{};  // what a request gets that leaves its own open
  // The clock of times, kModelClock or kMeasuredClock, and the device as in verdicts; empty: a request that
  // asks for times is refused.
  std::string clock, device;
  bool operator==(const VerifierDescription&) const = default;
};

// Why requests with these wishes are refused by a verifier with that clock; empty if they are not.
std::string times_problem(const VerificationProtocol& wishes, const std::string& clock);

// Why this program cannot use the verifier for requests with these wishes; empty if it can.
std::string verifier_problem(const VerifierDescription& verifier, const VerificationProtocol& wishes);

// All that a verdict of this verifier depends on beside task and program, for requests with these wishes:
// part of the key under which verdicts are kept.
std::string grading_basis(const VerifierDescription& verifier, const VerificationProtocol& wishes);

}  // namespace bicrl

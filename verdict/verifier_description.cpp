#include "verdict/verifier_description.h"

#include "common/error.h"

namespace bicrl {

std::string times_problem(const VerificationProtocol& wishes, const std::string& clock) {
  if (!wishes.measure_time || !clock.empty()) return {};
  return "protocol.measure_time: this verifier tells no times; ask without, or ask one that has a clock";
}

std::string verifier_problem(const VerifierDescription& verifier, const VerificationProtocol& wishes) {
  if (verifier.protocol_version != kProtocolVersion)
    return concat("it speaks protocol ", verifier.protocol_version.empty() ? "?" : verifier.protocol_version,
                  ", this program ", kProtocolVersion, ": use the same version of both");
  return times_problem(wishes, verifier.clock);
}

std::string grading_basis(const VerifierDescription& verifier, const VerificationProtocol& wishes) {
  return concat(verifier.backend, ", protocol ", verifier.protocol_version, ", ",
                to_string(wishes.or_else(verifier.protocol)),
                wishes.or_else(verifier.protocol).measure_time
                    ? concat(", clock ", verifier.clock, " ", verifier.device)
                    : std::string());
}

}  // namespace bicrl

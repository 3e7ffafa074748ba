#include "tasks/verifier_description.h"

#include "common/error.h"

namespace bicrl {

std::string times_problem(const VerificationProtocol& wishes, bool measures_time) {
  if (!wishes.measure_time || measures_time) return {};
  return "protocol.measure_time: this verifier measures no times; ask without, or ask one that runs kernels "
         "on a "
         "GPU";
}

std::string verifier_problem(const VerifierDescription& verifier, const VerificationProtocol& wishes) {
  if (verifier.protocol_version != kProtocolVersion)
    return concat("it speaks protocol ", verifier.protocol_version.empty() ? "?" : verifier.protocol_version,
                  ", this program ", kProtocolVersion, ": use the same version of both");
  return times_problem(wishes, verifier.measures_time);
}

std::string grading_basis(const VerifierDescription& verifier, const VerificationProtocol& wishes) {
  return concat(verifier.backend, ", protocol ", verifier.protocol_version, ", ",
                to_string(wishes.or_else(verifier.protocol)));
}

}  // namespace bicrl

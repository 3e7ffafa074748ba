#include "tasks/verifier_description.h"

#include "common/error.h"

namespace bicrl {

std::string grading_basis(const VerifierDescription& verifier, const VerificationProtocol& wishes) {
  return concat(verifier.backend, ", protocol ", verifier.protocol_version, ", ",
                to_string(wishes.or_else(verifier.protocol)),
                verifier.shifted_draws ? ", shifted draws" : "");
}

}  // namespace bicrl

// Objective `exact`: the likelihood of what a denoise step did to the block. A position that was accepted
// counts with its token's log-probability; one that stayed masked with that of not being accepted, given what
// was. Where acceptance does not go by confidence these are 0, and it is `trace`, with tokens behind the end.
#include "trainer/update/objective/candidate_likelihood.h"

namespace bicrl {
namespace {

const ObjectiveRegistration kExactRegistered("exact", {}, [](const ConfigSection&) {
  return std::make_shared<CandidateLikelihood>("exact", CandidateTerms::kRejected);
});

}  // namespace
}  // namespace bicrl

// Objective `draws`: every candidate of a denoise step counts with its log-probability, accepted or not. The
// gradient of what was sampled, without bias, and with the noise of draws that nothing came of.
#include "trainer/update/objective/candidate_likelihood.h"

namespace bicrl {
namespace {

const ObjectiveRegistration kDrawsRegistered("draws", {}, [](const ConfigSection&) {
  return std::make_shared<CandidateLikelihood>("draws", CandidateTerms::kDraws);
});

}  // namespace
}  // namespace bicrl

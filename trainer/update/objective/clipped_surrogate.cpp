#include "trainer/update/objective/clipped_surrogate.h"

#include <ATen/ATen.h>

namespace bicrl {

TokenLosses ClippedSurrogate::losses(const ScoredTokens& tokens, const SurrogateSettings& settings) const {
  const SurrogateTerms terms = surrogate_terms(tokens.chunk.log_probs, tokens.old_log_probs,
                                               tokens.reference_log_probs, tokens.advantages, settings);
  return {.losses = terms.policy + settings.kl_weight * terms.kl,
          .log_likelihoods = tokens.chunk.log_probs,
          .figures = {terms.kl.detach().sum(), terms.clipped.sum()}};
}

std::vector<UpdateFigure> ClippedSurrogate::figures() const {
  return {{.key = "kl", .digits = 4, .text = " | kl {}"},
          {.key = "clip_share", .unit = UpdateUnit::kShare, .digits = 0, .text = " | clip {}"}};
}

}  // namespace bicrl

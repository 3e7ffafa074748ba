// An objective that minimises the clipped surrogate and the divergence at each scored token, whichever these
// are. It reports the divergence and the share of tokens whose gradient the clip holds back.
#pragma once
#include <vector>

#include "trainer/update/objective/objective.h"

namespace bicrl {

class ClippedSurrogate : public Objective {
 public:
  TokenLosses losses(const ScoredTokens& tokens, const SurrogateSettings& settings) const override;
  std::vector<UpdateFigure> figures() const override;
};

}  // namespace bicrl

// Objectives: which tokens of a response are masked and scored together, what is minimised at each, and what
// an update reports of it. A new objective is one file trainer/update/objective/objective_NAME.cpp that
// derives from Objective, or from ClippedSurrogate (clipped_surrogate.h), and registers itself in one line.
// Objectives are immutable once made and may be used from any thread.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "policy/policy_config.h"
#include "trainer/update/objective/surrogate.h"
#include "trainer/update/packing/live_layout.h"
#include "trainer/update/scored_pass.h"
#include "trainer/update/update_figures.h"

namespace bicrl {

// What random choices of an objective are keyed by, beside the response.
struct UpdateKey {
  uint64_t seed = 0;
  int64_t step = 0;  // over all phases
};

// The scored tokens of a chunk, as a loss may read them. Columns are [tokens], in the type of the chunk's.
struct ScoredTokens {
  // Log-probabilities, which are differentiable, and the entropy of each distribution.
  const ScoredChunk& chunk;
  at::Tensor old_log_probs;        // of the policy that sampled
  at::Tensor reference_log_probs;  // of the policy that the divergence is measured to
  at::Tensor advantages;
};

struct TokenLosses {
  at::Tensor losses;                // [tokens], differentiable; without the normaliser
  at::Tensor log_likelihoods;       // [tokens]: those whose values under the old policy are old_log_probs
  std::vector<at::Tensor> figures;  // for each of figures(): a scalar of these tokens, which its row adds up
};

class Objective {
 public:
  virtual ~Objective() = default;

  // The response as it is scored: for every block, the rounds that mask and score tokens of it.
  virtual LiveSequence sequence(const Experience& experience, const PolicyConfig& config,
                                const UpdateKey& key) const = 0;
  // Rounds of a block, at most, if the sampler took so many denoise steps for it: what memory is asked for.
  virtual int64_t rounds_of_block(int64_t denoise_steps) const = 0;
  // Terms of a block in all of its rounds, at most, likewise.
  virtual int64_t scored_of_block(int64_t block_size, int64_t /*denoise_steps*/) const { return block_size; }
  // Whether every context that tokens are scored in is one that the sampler had, so that the
  // log-probabilities of its tokens are the old ones. Otherwise one more forward finds those of the
  // parameters before the first update.
  virtual bool has_sampler_contexts() const = 0;
  // Whether a response has as many scored tokens as its rollout says. Otherwise ranks exchange their numbers.
  virtual bool scores_every_token() const = 0;

  // What rollouts must keep of the sampler's candidates for sequence().
  virtual CandidateTerms recorded_candidates() const { return CandidateTerms::kNone; }

  virtual TokenLosses losses(const ScoredTokens& tokens, const SurrogateSettings& settings) const = 0;
  // Its rows in the table of an update's figures.
  virtual std::vector<UpdateFigure> figures() const = 0;
};

// Makes the objective that the section's key `objective` names, with its parameters from the same section.
// Refuses parameters of other objectives (InputError).
std::shared_ptr<const Objective> make_objective(const ConfigSection& section);
// The one of a section that names none.
std::shared_ptr<const Objective> default_objective();
std::vector<std::string> objective_names();  // sorted

// A namespace-scope object of this type makes an objective known. `parameters`: keys that its factory reads.
struct ObjectiveRegistration {
  using Factory = std::function<std::shared_ptr<const Objective>(const ConfigSection& section)>;
  ObjectiveRegistration(const std::string& name, std::vector<std::string> parameters, Factory factory);
};

}  // namespace bicrl

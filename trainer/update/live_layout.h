// The live layout: which token rows a sequence needs for its loss.
//
// A sequence's rows are its clean tokens (the prompt's whole blocks are shared by all sequences of a group)
// and, for every denoising round that scores a token, the noisy blocks of that round. What no scored token
// looks at is not computed: exhausted blocks of a round, clean blocks at or after the last noisy one,
// padding. Plain data and pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <vector>

#include "policy/policy_config.h"
#include "rollout/rollout.h"

namespace bicrl {

// A token whose log-probability is part of the loss.
struct ScoredToken {
  int64_t offset = 0;  // within its block
  int64_t label = 0;
  double weight = 1;              // share in the loss, before the update's normaliser
  double old_log_prob = 0;        // under the behaviour policy
  double reference_log_prob = 0;  // under the policy that the divergence is measured to
};

// One block as the policy saw it at one denoising round.
struct NoisyBlock {
  int64_t block = 0;            // absolute index
  std::vector<int64_t> inputs;  // [block_size], with MASK if nothing was accepted yet
  std::vector<ScoredToken> scored;
};

struct LiveSequence {
  std::vector<int64_t> shared;  // the prompt's whole blocks: equal for all sequences of a group
  std::vector<int64_t> clean;   // what follows, up to the last noisy block
  std::vector<NoisyBlock> noisy;
  double advantage = 0;

  int64_t scored_tokens() const;
};

// TraceRL rounds of a response: in every block, round r scores the tokens of the r-th smallest distinct step
// (`shrink` steps are one round if shrink > 1) and sees MASK wherever a token was accepted at that step or
// later. Context of the unscored tokens of a block (step_map <= 0): always there is the prompt's tail; a
// token after the end token is MASK until the step -step_map at which the sampler accepted it; with step_map
// 0 it is there.
LiveSequence rollout_sequence(const Experience& experience, const PolicyConfig& config, int64_t shrink);

// Which positions of a response a random mask hides: [response tokens], each with probability one half, but
// none whose step is 0. A pure function of the key.
std::vector<bool> random_mask(const Rollout& rollout, uint64_t key);
// Of a response in a run's step, on whatever rank it is.
uint64_t mask_key(uint64_t seed, int64_t step, const Experience& experience);
// The response under such a mask and, if `coupled`, under its opposite: what is hidden is scored, except
// tokens that a response does not score. Old log-probabilities are left at 0: the behaviour policy never saw
// this context.
LiveSequence masked_sequence(const Experience& experience, const PolicyConfig& config, bool coupled,
                             uint64_t key);

// Rows that the published padded layout would compute for the same responses: per round of each response one
// row [prompt | clean | noisy], all padded to the longest prompt and the longest response.
int64_t published_layout_rows(const std::vector<Experience>& experiences, const PolicyConfig& config,
                              int64_t shrink);

}  // namespace bicrl

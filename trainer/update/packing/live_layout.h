// The live layout: which token rows a sequence needs for its loss.
//
// A sequence's rows are its clean tokens (the prompt's whole blocks are shared by all sequences of a group)
// and, for every denoising round that scores a token, the noisy blocks of that round. What no scored token
// looks at is not computed: exhausted blocks of a round, clean blocks at or after the last noisy one,
// padding. Plain data and pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "policy/policy_config.h"
#include "rollout/rollout.h"

namespace bicrl {

// A position whose log-likelihood is part of the loss: that it drew its label, or none of several ids.
struct ScoredToken {
  int64_t offset = 0;  // within its block
  int64_t label = 0;
  double weight = 1;              // share in the loss, before the update's normaliser
  double old_log_prob = 0;        // under the behaviour policy
  double reference_log_prob = 0;  // under the policy that the divergence is measured to
  // If there are ids: what is scored is that the position drew none of them, of which `label` is the first.
  std::vector<int64_t> excluded{};
  // If there are ids: the position drew among them alone, so that its likelihood is under their distribution.
  std::vector<int64_t> kept{};
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

// ---- For objectives, which say of every block what its rounds mask and score.

// Throws Error if lengths do not belong together, or a scored token is MASK.
void check_rollout(const Rollout& rollout, const PolicyConfig& config);

// What a round does with a token of the response; a scored one is hidden.
enum class TokenUse { kShown, kHidden, kScored };
// A round of a block. `use` is asked for every token of the response in it, with its step
// (Rollout::step_map); the prompt's are shown. Old log-probabilities are the sampler's.
NoisyBlock noisy_block(const Rollout& rollout, int64_t block, const PolicyConfig& config,
                       const std::function<TokenUse(int64_t response_token, int64_t step)>& use);
// Of the rounds that `add_rounds` appends for each block of the response; those that score nothing are left
// out. Checks the rollout.
LiveSequence live_sequence(
    const Experience& experience, const PolicyConfig& config,
    const std::function<void(int64_t block, std::vector<NoisyBlock>& rounds)>& add_rounds);

// TraceRL rounds of a response: in every block, round r scores the tokens of the r-th smallest distinct step
// (`shrink` steps are one round if shrink > 1) and sees MASK wherever a token was accepted at that step or
// later. Context of the unscored tokens of a block (step_map <= 0): always there is the prompt's tail; a
// token after the end token is MASK until the step -step_map at which the sampler accepted it; with step_map
// 0 it is there.
LiveSequence rollout_sequence(const Experience& experience, const PolicyConfig& config, int64_t shrink);

// Rows that the published padded layout would compute for the same responses: per round of each response one
// row [prompt | clean | noisy], all padded to the longest prompt and the longest response.
int64_t published_layout_rows(const std::vector<Experience>& experiences, const PolicyConfig& config,
                              int64_t shrink);

}  // namespace bicrl

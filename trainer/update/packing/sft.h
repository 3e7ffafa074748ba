// Supervised fine-tuning of a block-diffusion policy: samples and their noise. One noise level per sample,
// every trained token masked independently, weight 1/p: the bound on the negative log-likelihood of masked
// diffusion. Pure functions; a sample's noise depends on its key alone, never on batches or ranks.
// Thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "policy/policy_config.h"
#include "policy/tokenizer/tokenizer.h"
#include "tasks/prompt.h"
#include "trainer/update/packing/live_layout.h"

namespace bicrl {

struct SftSettings {
  double smallest_noise = 1e-3;  // eps of p = (1 - eps) t + eps
  static SftSettings from_config(const ConfigSection& section);
};

// Tokens as rollout would leave them: given tokens, then the response with its end token or delimiter, then
// the policy's first end token up to a whole block.
struct SftSample {
  std::vector<int64_t> tokens;
  int64_t prompt_tokens = 0;    // given
  int64_t response_tokens = 0;  // trained, masked or not: what the loss is divided by
  uint64_t noise_key = 0;       // for instance mix_key({seed, epoch, index of the sample in its set})
};

// What one update is made of.
struct SupervisedBatch {
  std::vector<SftSample> mine;    // of this rank
  int64_t supervised_tokens = 0;  // over all ranks, and what the loss is divided by
};

SftSample make_sft_sample(std::vector<int64_t> prompt, const std::vector<int64_t>& response,
                          const PolicyConfig& config, uint64_t noise_key);

// The sample that teaches to answer `prompt` with `program` in the form that the prompt asks for
// (expected_answer), split at the seams of rollout: prompt, clamped prefix and answer are encoded apart. With
// a clamp, what is trained ends with the delimiter; without one, with the end token that the prompt names if
// it is one of the policy's, else with the policy's first. Throws InputError as expected_answer() does, and
// if the policy has no end token.
SftSample make_sft_sample(const Prompt& prompt, const std::string& program, const Tokenizer& tokenizer,
                          const PolicyConfig& config, uint64_t noise_key);

// Noisy blocks for the masked trained tokens. The draw is conditioned on at least one of the n trained tokens
// being masked, and the weight is (1 - (1 - p)^n) / p: exactly the expectation of the unconditioned draw with
// weight 1/p. Fill is masked like the rest (the sampler starts from a masked block), but never scored.
LiveSequence sft_sequence(const SftSample& sample, const SftSettings& settings, const PolicyConfig& config);

}  // namespace bicrl

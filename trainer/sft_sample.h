// Supervised samples from texts, with the same seams between tokens as rollout.
#pragma once
#include <string>

#include "policy/policy_config.h"
#include "policy/tokenizer.h"
#include "tasks/prompt.h"
#include "trainer/sft.h"

namespace bicrl {

// The sample that teaches to answer `prompt` with `response`, split at the seams of rollout: prompt, clamped
// prefix and the rest are encoded apart. With a clamp, `response` is the whole program and what is trained
// ends with the delimiter; without one, with the end token. Throws InputError (naming the task) where the
// program does not have the clamp's form.
SftSample make_sft_sample(const Prompt& prompt, const std::string& response, const Tokenizer& tokenizer,
                          const PolicyConfig& config, uint64_t noise_key);

}  // namespace bicrl

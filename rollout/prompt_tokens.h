// From a task's prompt to a request in tokens, and from a response to its program.
#pragma once
#include "policy/tokenizer.h"
#include "rollout/generation_request.h"
#include "rollout/rollout.h"
#include "tasks/prompt.h"

namespace bicrl {

// The prompt's tokens with those of its clamped prefix behind them. The two texts are encoded apart, as the
// samples of supervised training are, so that the seam between them is the same.
GenerationRequest make_request(const Prompt& prompt, const Tokenizer& tokenizer, int64_t group, uint64_t key);

// A clamped response as it stands: in code blocks that were generated a policy would leave the scaffold. Of
// any other what extract_program() finds.
std::string program_of(const Rollout& rollout);

}  // namespace bicrl

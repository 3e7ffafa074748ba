// From a task's prompt to a request in tokens.
#pragma once
#include "policy/tokenizer/tokenizer.h"
#include "rollout/generation_request.h"
#include "tasks/prompt.h"

namespace bicrl {

// The prompt's tokens with those of its clamped prefix behind them. The two texts are encoded apart, as the
// samples of supervised training are, so that the seam between them is the same.
GenerationRequest make_request(const Prompt& prompt, const Tokenizer& tokenizer, int64_t group, uint64_t key);

}  // namespace bicrl

// Compares the token ids of a policy's config with those of its tokenizer. Pure functions.
#pragma once
#include <string>

#include "policy/policy_config.h"
#include "policy/tokenizer/tokenizer.h"

namespace bicrl {

// The first disagreement, for a person; empty: there is none. An id that the config names must be a token's,
// and the one that the tokenizer's own files name for the same purpose (mask, end, begin, padding), if they
// do. `own_end_tokens`: the config's end tokens are its files', not the user's choice.
std::string token_disagreement(const PolicyConfig& config, const Tokenizer& tokenizer, bool own_end_tokens);

}  // namespace bicrl

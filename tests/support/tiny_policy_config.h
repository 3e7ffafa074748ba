// Shapes of policies that are small enough for tests.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "policy/policy_config.h"

namespace bicrl::testing {

// Responses take milliseconds; for the tokenizer of tests/rollout/tiny_tokenizer.
inline PolicyConfig tiny_policy_config(std::vector<int64_t> end_tokens, int64_t block_size) {
  PolicyConfig c;
  c.vocab_size = 272;
  c.hidden_size = 32;
  c.layers = 2;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 16;
  c.intermediate_size = 48;
  c.initializer_range = 0.35;
  c.max_position = 256;
  c.block_size = block_size;
  c.mask_token_id = 265;
  c.end_token_ids = std::move(end_tokens);
  return c;
}

// Without a tokenizer: three layers, for passes that are compared in fp64.
inline PolicyConfig three_layer_config(bool tied = false) {
  PolicyConfig c;
  c.vocab_size = 40;
  c.hidden_size = 32;
  c.layers = 3;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 8;
  c.intermediate_size = 48;
  c.initializer_range = 0.2;
  c.tie_word_embeddings = tied;
  c.block_size = 4;
  c.mask_token_id = 0;
  return c;
}

}  // namespace bicrl::testing

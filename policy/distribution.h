// The policy's distribution over tokens, in one place: softmax over the *allowed* ids at the sampling
// temperature, before top-k and top-p. Rollout confidence, stored log-probabilities and the trainer's
// log-probabilities all use it.
#pragma once
#include <ATen/core/Tensor.h>

#include "policy/policy_config.h"

namespace bicrl {

// [vocab] bool on `device`: false for the MASK id and for rows that no token is assigned to.
// `assigned_ids` is the tokenizer's number of ids (highest id + 1).
at::Tensor allowed_ids(const PolicyConfig& config, int64_t assigned_ids, at::Device device);

// logits [N, vocab] fp32 -> log-probabilities [N, vocab]; -inf for ids that are not allowed. temperature > 0.
at::Tensor policy_log_softmax(const at::Tensor& logits, const at::Tensor& allowed, double temperature);

}  // namespace bicrl

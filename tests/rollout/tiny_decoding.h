// A policy so small that a response takes milliseconds, requests to it, and what they come to.
#pragma once
#include <vector>

#include "policy/transformer.h"
#include "rollout/decoding/decode_engine.h"

namespace bicrl::testing {

// 266 ids: bytes, a few merges, end and MASK.
const Tokenizer& tiny_tokenizer();

// A few rows more than the tokenizer has ids. Wide initial weights make the distributions peaked, so that
// confidences differ and some exceed a threshold.
PolicyConfig tiny_config(std::vector<int64_t> end_tokens = {}, int64_t block_size = 4);
Transformer tiny_policy(const PolicyConfig& config, at::Device device = at::kCPU);

// Prompts of every length modulo the block size, with `samples` requests each.
std::vector<GenerationRequest> make_requests(int64_t prompts, int64_t samples, int64_t first_length = 5);

// By an engine of its own, under policy version 9. Checks that each request ends once.
std::vector<Rollout> generate(const Transformer& policy, const DecodingSettings& settings,
                              const std::vector<GenerationRequest>& requests,
                              DecodingStatistics* statistics = nullptr);

// By an engine that goes on, under the same version.
std::vector<Rollout> rollouts_of(DecodeEngine& engine, const DecodingSettings& settings,
                                 const std::vector<GenerationRequest>& requests);

// The same but for rounding.
bool identical(const Rollout& a, const Rollout& b);

}  // namespace bicrl::testing

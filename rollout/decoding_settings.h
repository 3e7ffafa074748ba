// Settings of response generation: the `rollout` section of a configuration. A plain value.
#pragma once
#include <cstdint>
#include <optional>

#include "common/config/config.h"
#include "rollout/bench/drawn_responses.h"
#include "rollout/decoding/acceptance.h"
#include "rollout/decoding/sampling.h"
#include "rollout/record/candidate_record.h"
#include "tasks/prompt.h"

namespace bicrl {

struct DecodingSettings {
  // New tokens of a response; the last block is always finished, so up to block_size - 1 more are generated.
  int64_t max_new_tokens = 512;
  int64_t denoise_steps = 0;  // of a block; 0: as many as it has positions
  SamplingSettings sampling;
  AcceptanceSettings acceptance;
  Scaffold scaffold = Scaffold::kClamp;  // how the caller builds infilling prompts
  int64_t max_active = 64;               // sequences that generate at the same time
  // Limit of the key/value cache; 0: what max_active of the longest requests need. A request waits until its
  // whole budget is free.
  int64_t cache_tokens = 0;
  int64_t prefill_tokens = 2048;  // prompt tokens computed in one forward, beside the denoising rows
  // Commits a finished block in the first denoise step of the next; off only to compare.
  bool fused_commit = true;
  // What rollouts keep of candidates; follows from the objective that they are sampled for.
  CandidateTerms recorded = CandidateTerms::kNone;
  // Of a bench; read by nobody from the section `rollout`.
  std::optional<DrawnResponses> drawn{};

  // Forwards in which a block of the policy is denoised, at most.
  int64_t steps_of_block(int64_t block_size) const { return denoise_steps == 0 ? block_size : denoise_steps; }

  static DecodingSettings from_config(const ConfigSection& section);
};

}  // namespace bicrl

// Batched block-diffusion decoding: many sequences generate at once, block after block, and each is handed
// out as soon as it ends.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "policy/tokenizer.h"
#include "policy/transformer.h"
#include "rollout/decoding_settings.h"
#include "rollout/generation_request.h"
#include "rollout/rollout.h"

namespace bicrl {

struct DecodingStatistics {
  int64_t forwards = 0;
  int64_t rows = 0;              // token rows computed, all kinds
  int64_t prefill_rows = 0;      // of them: prompts
  int64_t generated_tokens = 0;  // accepted, those after an end token included
  int64_t peak_active = 0;
  int64_t cache_bytes = 0;
  double seconds = 0;

  double tokens_per_second() const { return seconds > 0 ? generated_tokens / seconds : 0.0; }
};

// Refers to policy and tokenizer, which outlive it; reads the parameters anew in every generate(). Not
// thread-safe.
class Decoder {
 public:
  // Throws InputError if settings and policy do not fit together.
  Decoder(const Transformer& policy, const Tokenizer& tokenizer, const DecodingSettings& settings);

  using OnFinished = std::function<void(size_t request_index, Rollout rollout)>;
  // Generates a response to every request. `on_finished` runs on this thread between two steps, once for each
  // request, in the order in which they end; what it throws ends the generation. Results depend on a request
  // and its key, not on what else is in the batch (up to rounding). The cache lives for this call only.
  // Throws InputError, before generating, naming a request that does not fit.
  DecodingStatistics generate(const std::vector<GenerationRequest>& requests, int64_t policy_version,
                              const OnFinished& on_finished) const;

 private:
  const Transformer& policy_;
  const Tokenizer& tokenizer_;
  DecodingSettings settings_;
  at::Tensor allowed_;  // [vocab] bool
};

}  // namespace bicrl

// Block-diffusion decoding written down literally, as the oracle of the decoder's tests: one sequence at a
// time, a full dense forward for every denoise step, probabilities and choices in double precision on the
// host.
#pragma once
#include <vector>

#include "policy/transformer.h"
#include "rollout/decoding_settings.h"
#include "rollout/generation_request.h"

namespace bicrl::testing {

// Of a candidate that was not accepted.
struct LiteralRejection {
  int64_t token = 0, step = 0;  // after the prompt; 1-based
  int64_t drawn = 0;
  double log_prob = 0;            // of the drawn id
  std::vector<int64_t> excluded;  // ids that would have been accepted in its place; with recorded kRejected
  double excluded_mass = 0;
};

struct LiteralResponse {
  std::vector<int64_t> tokens;    // with the prompt
  std::vector<int64_t> steps;     // of acceptance, for each token after the prompt
  std::vector<double> log_probs;  // under what was drawn from, if candidates are recorded
  std::vector<LiteralRejection> rejections;
  int64_t denoise_steps = 0;
};

// Stops after the block that holds one of `end_tokens`, or at the token limit. `assigned_ids`: ids from there
// on do not exist.
LiteralResponse decode_literally(const Transformer& policy, int64_t assigned_ids,
                                 const std::vector<int64_t>& end_tokens, const GenerationRequest& request,
                                 const DecodingSettings& settings);

}  // namespace bicrl::testing

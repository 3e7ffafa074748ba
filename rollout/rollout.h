// One generated response, as the trainer needs it. Token ids are kept end to end: text is never re-tokenised.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "rollout/record/candidate_record.h"

namespace bicrl {

enum class FinishReason { kEndToken, kDelimiter, kTokenLimit };

struct Rollout {
  std::string task_id;
  int64_t policy_version = 0;
  // Prompt (with a clamped prefix, if any) followed by the whole generated blocks, aligned to absolute
  // position: tokens.size() is a multiple of the block size. Tokens after an end token stay, as context.
  std::vector<int64_t> tokens;
  int64_t prompt_tokens = 0;  // tokens the policy did not generate, at the front
  // For each token after the prompt: 1-based denoise step at which it was accepted (monotone over blocks);
  // minus that step if it is not scored (after an end token or the delimiter), so that the trainer can
  // rebuild what the sampler saw; 0 if the step is not known or the position was never accepted.
  std::vector<int32_t> step_map;
  // For each token after the prompt: log-probability of the accepted token under the policy's distribution
  // (softmax over allowed ids at the sampling temperature; over the ids that were drawn among, if
  // `candidates` records them) when it was accepted; 0 if not scored.
  std::vector<float> log_probs;
  FinishReason finish = FinishReason::kTokenLimit;
  int64_t tokens_left = 0;  // of its limit, when it came to its end
  std::string text;         // the response's program text, scaffold included
  bool clamped = false;     // between a scaffold, so that the text is the program, whatever was generated
  int64_t denoise_steps = 0;
  CandidateRecord candidates{};  // if the objective asked for it

  int64_t response_tokens() const { return static_cast<int64_t>(tokens.size()) - prompt_tokens; }
  int64_t scored_tokens() const {
    return std::count_if(step_map.begin(), step_map.end(), [](int32_t step) { return step > 0; });
  }
  // The response did not come to its end: the token limit cut it off, or what was to end with the delimiter
  // of its scaffold ended otherwise. There is no end to imitate then.
  bool truncated() const {
    return finish == FinishReason::kTokenLimit || (clamped && finish != FinishReason::kDelimiter);
  }
};

// A rollout with the reward that it got and what follows from it.
struct Experience {
  int64_t group = 0;   // of the step; all responses to one prompt
  int64_t sample = 0;  // within the group
  int64_t turn = 0;    // of the episode
  Rollout rollout;
  double reward = 0;
  double advantage = 0;
};

}  // namespace bicrl

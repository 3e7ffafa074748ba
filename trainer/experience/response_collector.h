// The one way from prompts to verified responses: steps of reinforcement, evaluations within a run and
// `bicrl eval` all take it. A response goes to the verifier as soon as it is finished, while others are still
// generated. Nothing here is collective.
#pragma once
#include <cstdint>
#include <vector>

#include "episode/episode_verifier.h"
#include "rollout/decode_engine.h"
#include "tasks/prompt.h"

namespace bicrl {

// A prompt that gets a group of responses.
struct PromptedGroup {
  int64_t index = 0;  // of the step, over all ranks; decides the draws
  const Task* task = nullptr;
  Prompt prompt;
  bool repair = false;  // the prompt shows a failed attempt
};

struct CollectedResponses {
  std::vector<Episode> episodes;  // group after group, in the order of samples
  DecodingStatistics decoding;
  double rollout_seconds = 0;
  double verify_wait_seconds = 0;  // behind the last response, and for windows before it
  int64_t verifier_queue = 0;      // verdicts that were missing when the last response was there
  int64_t confirmed = 0;           // successes that were verified a second time
  bool interrupted = false;        // a stop left responses without their verdict
};

// Refers to everything it is given and owns nothing. Not thread-safe.
class ResponseCollector {
 public:
  // `quarantine` may be null: every verdict counts as it is.
  ResponseCollector(DecodeEngine& engine, const DecodingSettings& decoding, EpisodeVerifier& verifier,
                    const Quarantine* quarantine)
      : engine_(engine), decoding_(decoding), verifier_(verifier), quarantine_(quarantine) {}

  // `samples` responses to each prompt, of the step `place`. `key` decides all draws with group and sample.
  // Throws InputError if a prompt does not fit the policy, Error if the policy is broken.
  CollectedResponses collect(const std::vector<PromptedGroup>& groups, int64_t samples, uint64_t key,
                             int64_t policy_version, const StepPlace& place = {});
  // Verdicts on responses that were generated before.
  CollectedResponses verify(std::vector<Episode> episodes);

 private:
  void finish(CollectedResponses& collected);

  DecodeEngine& engine_;
  const DecodingSettings& decoding_;
  EpisodeVerifier& verifier_;
  const Quarantine* quarantine_;
};

}  // namespace bicrl

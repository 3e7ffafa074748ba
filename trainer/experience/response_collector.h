// From prompts to verified episodes: the pipeline's source for steps of reinforcement, evaluations within a
// run and `bicrl eval`. Nothing here is collective.
#pragma once
#include <cstdint>
#include <vector>

#include "episode/episode_pipeline.h"
#include "rollout/decoding/decode_engine.h"
#include "tasks/prompt.h"
#include "trainer/experience/bench_programs.h"
#include "trainer/experience/generation_record.h"

namespace bicrl {

// A prompt that gets a group of responses.
struct PromptedGroup {
  int64_t index = 0;  // of the step, over all ranks; decides the draws
  const Task* task = nullptr;
  Prompt prompt;
  bool repair = false;  // the prompt shows a failed attempt
};

struct CollectedResponses : PipelineResult {
  DecodingStatistics decoding{};
};

// Refers to everything it is given and owns nothing. Not thread-safe.
class ResponseCollector {
 public:
  // bench: programs that are verified in the place of generated ones; null in all but benches. times: what
  // the engine's forwards take is added there; may be null.
  ResponseCollector(DecodeEngine& engine, const DecodingSettings& decoding, EpisodeVerifier& verifier,
                    const BenchPrograms* bench = nullptr, ForwardTimes* times = nullptr)
      : engine_(engine), decoding_(decoding), verifier_(verifier), bench_(bench), times_(times) {}

  // `samples` responses to each prompt, of the step `place`. `key` decides all draws with group and sample.
  // Throws InputError if a prompt does not fit the policy, Error if the policy is broken.
  CollectedResponses collect(const std::vector<PromptedGroup>& groups, int64_t samples, uint64_t key,
                             int64_t policy_version, const StepPlace& place = {},
                             const ScoreGroup& score = {});
  // Verdicts on responses that were generated before.
  CollectedResponses verify(std::vector<Episode> episodes, const ScoreGroup& score = {});

 private:
  DecodeEngine& engine_;
  const DecodingSettings& decoding_;
  EpisodeVerifier& verifier_;
  const BenchPrograms* bench_;
  ForwardTimes* times_;
};

}  // namespace bicrl

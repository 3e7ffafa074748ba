#include "trainer/experience/response_collector.h"

#include "common/clock.h"
#include "common/rng.h"
#include "rollout/prompt_tokens.h"
#include "trainer/ranks/device_use.h"

namespace bicrl {

CollectedResponses ResponseCollector::collect(const std::vector<PromptedGroup>& groups, int64_t samples,
                                              uint64_t key, int64_t policy_version) {
  const Stopwatch watch;
  CollectedResponses collected;
  std::vector<GenerationRequest> requests;
  for (const PromptedGroup& group : groups)
    for (int64_t sample = 0; sample < samples; ++sample) {
      requests.push_back(
          make_request(group.prompt, engine_.tokenizer(), group.index,
                       mix_key({key, static_cast<uint64_t>(group.index), static_cast<uint64_t>(sample)})));
      VerifiedResponse& response = collected.responses.emplace_back();
      response.group = group.index;
      response.sample = sample;
      response.task = group.task;
    }
  double lent_s = 0;  // to windows: verification's time
  {
    DeviceUse use(engine_.policy().device());
    collected.decoding = engine_.generate(
        decoding_, requests, policy_version,
        [&](size_t index, Rollout rollout) {
          VerifiedResponse& response = collected.responses[index];
          response.rollout = std::move(rollout);
          response.program = program_of(response.rollout);
          verifier_.submit(collected.responses, index);
          verifier_.take_ready(collected.responses);
        },
        &use);
    lent_s = use.waited_seconds();
  }
  collected.rollout_seconds = watch.seconds() - lent_s;
  finish(collected);
  collected.verify_wait_seconds += lent_s;
  return collected;
}

CollectedResponses ResponseCollector::verify(std::vector<VerifiedResponse> responses) {
  CollectedResponses collected;
  collected.responses = std::move(responses);
  for (size_t i = 0; i < collected.responses.size(); ++i) {
    VerifiedResponse& response = collected.responses[i];
    response.program = program_of(response.rollout);
    verifier_.submit(collected.responses, i);
    verifier_.take_ready(collected.responses);
  }
  finish(collected);
  return collected;
}

void ResponseCollector::finish(CollectedResponses& collected) {
  const Stopwatch watch;
  collected.verifier_queue = verifier_.pending();
  collected.interrupted =
      !verifier_.wait(collected.responses) ||
      (quarantine_ && !verifier_.confirm(collected.responses, *quarantine_, collected.confirmed));
  collected.verify_wait_seconds = watch.seconds();
}

}  // namespace bicrl

#include "trainer/experience/response_collector.h"

#include "common/clock.h"
#include "common/rng.h"
#include "rollout/prompt_tokens.h"
#include "trainer/ranks/device_use.h"

namespace bicrl {

CollectedResponses ResponseCollector::collect(const std::vector<PromptedGroup>& groups, int64_t samples,
                                              uint64_t key, int64_t policy_version, const StepPlace& place) {
  const Stopwatch watch;
  CollectedResponses collected;
  std::vector<GenerationRequest> requests;
  for (const PromptedGroup& group : groups)
    for (int64_t sample = 0; sample < samples; ++sample) {
      requests.push_back(
          make_request(group.prompt, engine_.tokenizer(), group.index,
                       mix_key({key, static_cast<uint64_t>(group.index), static_cast<uint64_t>(sample)})));
      collected.episodes.push_back({.key = {.place = place, .group = group.index, .sample = sample},
                                    .task = group.task,
                                    .task_id = group.task->id,
                                    .repair = group.repair});
    }
  double lent_s = 0;  // to windows: verification's time
  {
    DeviceUse use(engine_.policy().device());
    collected.decoding = engine_.generate(
        decoding_, requests, policy_version,
        [&](size_t index, Rollout rollout) {
          Turn& turn = collected.episodes[index].last();
          turn.rollout = std::move(rollout);
          turn.program = program_of(turn.rollout);
          verifier_.submit(collected.episodes, index);
          verifier_.take_ready(collected.episodes);
        },
        &use);
    lent_s = use.waited_seconds();
  }
  collected.rollout_seconds = watch.seconds() - lent_s;
  finish(collected);
  collected.verify_wait_seconds += lent_s;
  return collected;
}

CollectedResponses ResponseCollector::verify(std::vector<Episode> episodes) {
  CollectedResponses collected;
  collected.episodes = std::move(episodes);
  for (size_t i = 0; i < collected.episodes.size(); ++i) {
    Turn& turn = collected.episodes[i].last();
    turn.program = program_of(turn.rollout);
    verifier_.submit(collected.episodes, i);
    verifier_.take_ready(collected.episodes);
  }
  finish(collected);
  return collected;
}

void ResponseCollector::finish(CollectedResponses& collected) {
  const Stopwatch watch;
  collected.verifier_queue = verifier_.pending();
  collected.interrupted =
      !verifier_.wait(collected.episodes) ||
      (quarantine_ && !verifier_.confirm(collected.episodes, *quarantine_, collected.confirmed));
  collected.verify_wait_seconds = watch.seconds();
}

}  // namespace bicrl

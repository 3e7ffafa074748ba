#include "trainer/experience/response_collector.h"

#include "common/clock.h"
#include "common/rng.h"
#include "rollout/prompt_tokens.h"
#include "trainer/experience/engine_generator.h"

namespace bicrl {
namespace {

// Notes each forward but the first, before which the engine makes its memory.
DecodeEngine::GoesOn timed_forwards(ForwardTimes* times) {
  if (!times) return {};
  return [times, watch = Stopwatch(), before = DecodingStatistics()](const DecodingStatistics& now) mutable {
    if (before.forwards > 0) times->add(static_cast<double>(now.rows - before.rows), watch.seconds());
    watch.restart();
    before = now;
    return true;
  };
}

}  // namespace

CollectedResponses ResponseCollector::collect(const std::vector<PromptedGroup>& groups, int64_t samples,
                                              uint64_t key, int64_t policy_version, const StepPlace& place,
                                              const ScoreGroup& score) {
  std::vector<Episode> episodes;
  std::vector<GenerationRequest> requests;
  for (const PromptedGroup& group : groups)
    for (int64_t sample = 0; sample < samples; ++sample) {
      requests.push_back(
          make_request(group.prompt, engine_.tokenizer(), group.index,
                       mix_key({key, static_cast<uint64_t>(group.index), static_cast<uint64_t>(sample)})));
      episodes.push_back({.key = {.place = place, .group = group.index, .sample = sample},
                          .task = group.task,
                          .task_id = group.task->id,
                          .repair = group.repair});
      if (bench_) episodes.back().last().program = bench_->of(group.task->id, sample, samples);
    }
  EngineGenerator generator(engine_, decoding_, std::move(requests), policy_version, timed_forwards(times_));
  CollectedResponses collected{
      run_pipeline(std::move(episodes), {.generator = &generator, .verifier = &verifier_, .score = score})};
  collected.decoding = generator.statistics();
  return collected;
}

CollectedResponses ResponseCollector::verify(std::vector<Episode> episodes, const ScoreGroup& score) {
  return {run_pipeline(std::move(episodes), {.verifier = &verifier_, .score = score})};
}

}  // namespace bicrl

#include "episode/episode_pipeline.h"

#include <algorithm>
#include <utility>

#include "common/clock.h"

namespace bicrl {
namespace {

// An answer that has ended: its program goes to the verifiers.
void take_answer(PipelineResult& result, size_t index, const PipelineStages& stages) {
  Episode& episode = result.episodes[index];
  if (episode.last().program.empty()) episode.last().program = program_of(episode.last().rollout);
  if (stages.on_answer) stages.on_answer(episode);
  if (!stages.verifier) return;
  const auto on_verdict = [&](size_t verified) {
    if (stages.on_verdict) stages.on_verdict(result.episodes[verified]);
  };
  stages.verifier->submit(result.episodes, index);
  if (episode.last().verdict) on_verdict(index);  // it was known
  stages.verifier->take_ready(result.episodes, on_verdict);
}

void generate(PipelineResult& result, const PipelineStages& stages) {
  const Stopwatch watch;
  GenerationEnd end;
  if (stages.generator)
    end = stages.generator->generate(result.episodes,
                                     [&](size_t index) { take_answer(result, index, stages); });
  else
    for (size_t i = 0; i < result.episodes.size(); ++i) take_answer(result, i, stages);
  result.is_interrupted = !end.is_complete;
  result.generation_seconds += watch.seconds() - end.lent_seconds;
  result.verify_wait_seconds += end.lent_seconds;
}

void await_verdicts(PipelineResult& result, const PipelineStages& stages) {
  const Stopwatch watch;
  result.verifier_queue += stages.verifier->pending();
  result.is_interrupted |= !stages.verifier->wait(result.episodes, [&](size_t index) {
    if (stages.on_verdict) stages.on_verdict(result.episodes[index]);
  });
  result.verify_wait_seconds += watch.seconds();
}

void confirm_successes(PipelineResult& result, EpisodeVerifier& verifier) {
  const Stopwatch watch;
  result.is_interrupted |= !verifier.confirm(result.episodes, result.confirmed);
  result.verify_wait_seconds += watch.seconds();
}

void score_groups(std::span<Episode> episodes, const ScoreGroup& score) {
  while (!episodes.empty()) {
    const int64_t group = episodes.front().key.group;
    const auto end = std::ranges::find_if(episodes, [&](const Episode& e) { return e.key.group != group; });
    const auto size = static_cast<size_t>(end - episodes.begin());
    score(episodes.first(size));
    episodes = episodes.subspan(size);
  }
}

}  // namespace

PipelineResult run_pipeline(std::vector<Episode> episodes, const PipelineStages& stages) {
  PipelineResult result;
  result.episodes = std::move(episodes);
  do {
    generate(result, stages);
    if (stages.verifier) await_verdicts(result, stages);
  } while (stages.generator && !result.is_interrupted && stages.generator->begin_next_turn(result.episodes));
  // Of last turns: those before them earn nothing.
  if (stages.verifier && !result.is_interrupted) confirm_successes(result, *stages.verifier);
  if (stages.score && !result.is_interrupted) score_groups(result.episodes, stages.score);
  return result;
}

}  // namespace bicrl

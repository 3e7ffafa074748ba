// The one path of an episode: source, generate, verify, score, sink. Steps of reinforcement, evaluations,
// `bicrl generate`, `eval`, `verify` and `rescore` are made of it, each with the stages that it needs: a
// source hands in episodes, and sinks take them as soon as they are generated or have their verdicts. An
// answer goes to the verifiers as soon as it is there, while others are still generated. A generator may
// begin further turns of episodes once their verdicts are there. Nothing here is collective.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "episode/episode.h"
#include "episode/episode_verifier.h"

namespace bicrl {

struct GenerationEnd {
  bool is_complete = true;  // else a stop ended it, and some episodes have no answer
  double lent_seconds = 0;  // for which the device was lent to verifiers
};

// Writes the answers of episodes.
class EpisodeGenerator {
 public:
  virtual ~EpisodeGenerator() = default;
  // Fills in the rollout of every last turn that has no answer yet, and says so with its place as soon as it
  // has ended.
  using OnAnswer = std::function<void(size_t index)>;
  virtual GenerationEnd generate(std::vector<Episode>& episodes, const OnAnswer& on_answer) = 0;
  // Once every last turn has its verdict: appends a turn to the episodes whose answer is revised, and says
  // whether there are any.
  virtual bool begin_next_turn(std::vector<Episode>&) { return false; }
};

// Of a group, once all its verdicts are there. Groups are adjacent.
using ScoreGroup = std::function<void(std::span<Episode> group)>;

// Referred to, not owned; what is null or empty is left out.
struct PipelineStages {
  EpisodeGenerator* generator = nullptr;  // null: episodes bring their answers, or programs
  EpisodeVerifier* verifier = nullptr;
  ScoreGroup score{};
  // Sinks. What the first one moves out of an episode is gone for those behind it.
  std::function<void(Episode&)> on_answer{};
  std::function<void(const Episode&)> on_verdict{};  // the first one: a second verification may replace it
};

struct PipelineResult {
  std::vector<Episode> episodes;  // in their order
  bool is_interrupted = false;    // a stop left answers or verdicts missing: nothing is scored
  int64_t confirmed = 0;          // successes that were verified a second time
  int64_t verifier_queue = 0;     // verdicts that were missing when the last answer was there
  double generation_seconds = 0;
  double verify_wait_seconds = 0;  // behind the last answer, and while the device was lent
};

PipelineResult run_pipeline(std::vector<Episode> episodes, const PipelineStages& stages);

}  // namespace bicrl

#include "episode/episode.h"

#include <utility>

#include "tasks/prompt.h"

namespace bicrl {

Episode candidate_episode(const Task& task, std::string program, const EpisodeKey& key) {
  Episode episode{.key = key, .task = &task, .task_id = task.id};
  episode.last().program = std::move(program);
  return episode;
}

std::string program_of(const Rollout& rollout) {
  return rollout.clamped ? rollout.text : extract_program(rollout.text);
}

Episode without_tokens(const Episode& episode) {
  Episode copy{.key = episode.key,
               .task = episode.task,
               .task_id = episode.task_id,
               .repair = episode.repair,
               .turns = {},
               .reward = episode.reward,
               .advantage = episode.advantage,
               .is_trained = episode.is_trained};
  for (const Turn& turn : episode.turns) {
    Turn& added = copy.turns.emplace_back();
    const Rollout& r = turn.rollout;
    added = {.rollout = {.task_id = r.task_id,
                         .policy_version = r.policy_version,
                         .tokens = {},
                         .prompt_tokens = 0,
                         .step_map = {},
                         .log_probs = {},
                         .finish = r.finish,
                         .tokens_left = r.tokens_left,
                         .text = r.text,
                         .clamped = r.clamped,
                         .denoise_steps = r.denoise_steps},
             .program = turn.program,
             .verdict_key = turn.verdict_key,
             .verdict = turn.verdict,
             .straggled = turn.straggled};
  }
  return copy;
}

}  // namespace bicrl

// An episode: what a policy answered to a task, what became of the answer, and where it came from. One record
// from the prompt to the reward, for training, evaluation, generation and verification; episode_fields.h
// lists its fields once, for files, logs and other ranks. Plain values.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reward/reward_rule.h"
#include "rollout/rollout.h"
#include "tasks/task.h"
#include "verdict/verdict.h"

namespace bicrl {

// A step of a run, wherever it is met: before a crash and after it, or in a replay.
struct StepPlace {
  std::string phase{};  // empty: of no step, as in an evaluation
  int64_t step = 0;     // 1-based within the phase
  auto operator<=>(const StepPlace&) const = default;
};

// Tells an episode from all others of its run.
struct EpisodeKey {
  StepPlace place{};
  int64_t group = 0;   // of the step, over all ranks: all answers to one prompt
  int64_t sample = 0;  // within the group
  auto operator<=>(const EpisodeKey&) const = default;
};

// A prompt, the policy's answer to it, and what the verifier says of that. An episode has one turn, or
// several where a policy revises its answer.
struct Turn {
  Rollout rollout{};
  std::string program{};             // that the answer holds
  std::string verdict_key{};         // in the ledger; empty if no verdict was asked for
  std::optional<Verdict> verdict{};  // none if none was asked for
  bool straggled = false;            // the verdict was given up at a deadline, and says so
  std::string counted_key{};         // verdict_key when it was scored before; empty: it was not

  // Whether the verdict says anything about the program.
  bool is_verified() const { return verdict && judges_program(verdict->outcome); }
  bool is_correct() const { return verdict && verdict->correct; }
  // A verdict was asked for, and the verifiers could not give one.
  bool is_lost() const { return verdict && verdict->outcome == Outcome::kInfrastructure; }
};

struct Episode {
  EpisodeKey key{};
  const Task* task = nullptr;  // outlives it; null in an episode that was read from a file
  std::string task_id{};
  bool repair = false;                             // its prompt showed a failed attempt
  std::vector<Turn> turns = std::vector<Turn>(1);  // one at least
  Reward reward{};                                 // of the last turn
  double advantage = 0;
  bool is_trained = false;  // counts in the update

  const Turn& last() const { return turns.back(); }
  Turn& last() { return turns.back(); }
  bool is_truncated() const { return last().rollout.truncated(); }
};

// An episode that brings its program: nothing is generated for it.
Episode candidate_episode(const Task& task, std::string program, const EpisodeKey& key);

// A clamped response as it is: in code blocks that were generated a policy would leave the scaffold. Of any
// other what extract_program() finds.
std::string program_of(const Rollout& rollout);

// The same without tokens and their numbers, for logs.
Episode without_tokens(const Episode& episode);

}  // namespace bicrl

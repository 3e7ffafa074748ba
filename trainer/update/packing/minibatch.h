// Division of a step's responses into minibatches, each of which makes an update. All ranks know of every
// response of a step and deal them out by the same draw, so that the contents of a minibatch do not depend on
// the number of ranks. Pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "rollout/rollout.h"
#include "trainer/update/objective/surrogate.h"

namespace bicrl {

// What ranks exchange about an experience.
struct ExperienceKey {
  int64_t group = 0;
  int64_t sample = 0;
  int64_t scored_tokens = 0;
  int64_t turn = 0;
  int64_t prompt_tokens = 0;
  int64_t scored_rounds = 0;  // denoise steps that accepted a scored token
  bool operator==(const ExperienceKey&) const = default;
};
// By rank, in the order of each rank's experiences.
using StepKeys = std::vector<std::vector<ExperienceKey>>;

ExperienceKey key_of(int64_t group, int64_t sample, int64_t turn, const Rollout& rollout);
std::vector<ExperienceKey> shares_of(const std::vector<Experience>& experiences);

// One rank's part of a minibatch.
struct Minibatch {
  std::vector<size_t> mine;    // ascending indices of this rank's experiences; all have a scored token
  std::vector<double> scales;  // of their token losses: the normaliser, over the whole minibatch
};

// The minibatches of one pass over a step's experiences, the same number on every rank; none if no experience
// has a scored token. Experiences are ordered by group and sample (equal ones, which are of different steps
// and of one rank, as they come), shuffled by `key` unless one minibatch takes all of them, and cut into
// parts of nearly equal size, at most `responses_per_update` (0: no limit) each.
std::vector<Minibatch> deal_minibatches(const StepKeys& shares, int rank, int64_t responses_per_update,
                                        const SurrogateSettings& surrogate, uint64_t key);

// What rows of packs cost. Of a response these are its tokens and, for each of its blocks, a block in each of
// the rounds that the objective has for it; of a prompt, its tokens.
struct RowCost {
  int64_t block_size = 4;
  double rows_of_pair = 0;  // PackSettings::rows_of_pair
  // Objective::rounds_of_block.
  std::function<int64_t(int64_t denoise_steps)> rounds_of_block = [](int64_t steps) { return steps; };

  double of_prompt(const ExperienceKey& key) const;
  double of_response(const ExperienceKey& key) const;  // without its prompt
};

// By rank and in the order of its experiences, the rank that is to train each, so that all ranks have nearly
// as much to do in every minibatch that deal_minibatches() makes with the same arguments: an update takes as
// long as its slowest rank. Responses of a minibatch to one prompt stay together, and share its rows, as do
// those of one group and sample. Equal on every rank.
std::vector<std::vector<int>> balanced_ranks(const StepKeys& shares, int64_t responses_per_update,
                                             uint64_t key, const RowCost& cost);

}  // namespace bicrl

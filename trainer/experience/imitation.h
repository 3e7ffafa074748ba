// Imitation beside reinforcement: after a step's updates, supervised ones on the best responses that the run
// has seen (reward/best_responses.h) and on programs that tasks bring along. Verdicts are what a step takes
// its time for: the former use each of them again, the latter need none. Pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <vector>

#include "common/config/config.h"
#include "policy/policy_config.h"
#include "reward/best_responses.h"
#include "trainer/ranks/placement.h"
#include "trainer/update/packing/known_samples.h"
#include "trainer/update/packing/sft.h"

namespace bicrl {

struct ImitationSettings {
  int64_t updates = 0;     // after each step's, from a batch each; 0: none
  int64_t samples = 32;    // of each, over all ranks
  double known_share = 0;  // of the samples, drawn from known programs; the others from best responses
  KnownPrograms known = KnownPrograms::kBest;
  SftSettings sft;

  // Keys updates, samples, known_share, known, sft. What would do nothing is refused: all others without the
  // first, `known` without a share.
  static ImitationSettings from_config(const ConfigSection& section);
};

// The batches of one step, by `key`. Where one of the two kinds of samples is not there, the other is drawn;
// without both there are no batches. Every rank draws all of a batch and keeps what it trains, so that a
// batch does not depend on their number.
std::vector<SupervisedBatch> imitated_batches(const BestResponses& best, const KnownSamples& known,
                                              Stage stage, const ImitationSettings& settings,
                                              const PolicyConfig& policy, const Placement& placement,
                                              int rank, uint64_t key);

}  // namespace bicrl

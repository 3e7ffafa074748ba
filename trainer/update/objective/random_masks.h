// Random masks over a response, for objectives that score tokens in contexts which the sampler never had.
// Pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <vector>

#include "policy/policy_config.h"
#include "rollout/rollout.h"
#include "trainer/update/packing/live_layout.h"

namespace bicrl {

// Which positions of a response a random mask hides: [response tokens], each with probability one half, but
// none whose step is 0. A pure function of the key.
std::vector<bool> random_mask(const Rollout& rollout, uint64_t key);
// Of a response in a run's step, on whatever rank it is.
uint64_t mask_key(uint64_t seed, int64_t step, const Experience& experience);
// The response under such a mask and, if `coupled`, under its opposite: what is hidden is scored, except
// tokens that a response does not score.
LiveSequence masked_sequence(const Experience& experience, const PolicyConfig& config, bool coupled,
                             uint64_t key);

}  // namespace bicrl

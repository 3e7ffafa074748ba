#include "trainer/update/objective/random_masks.h"

#include "common/rng.h"

namespace bicrl {

std::vector<bool> random_mask(const Rollout& rollout, uint64_t key) {
  RandomStream random(key);
  std::vector<bool> mask;
  for (const int32_t step : rollout.step_map) mask.push_back(random.uniform() < 0.5 && step != 0);
  return mask;
}

uint64_t mask_key(uint64_t seed, int64_t step, const Experience& experience) {
  const uint64_t key =
      mix_key({mix_key(seed, "masks"), static_cast<uint64_t>(step), static_cast<uint64_t>(experience.group),
               static_cast<uint64_t>(experience.sample)});
  // The first turn keeps the masks of runs that had no other.
  return experience.turn > 0 ? mix_key({key, static_cast<uint64_t>(experience.turn)}) : key;
}

LiveSequence masked_sequence(const Experience& experience, const PolicyConfig& config, bool coupled,
                             uint64_t key) {
  const Rollout& r = experience.rollout;
  check_rollout(r, config);
  const std::vector<bool> mask = random_mask(r, key);
  return live_sequence(experience, config, [&](int64_t block, std::vector<NoisyBlock>& rounds) {
    for (const bool side : coupled ? std::vector<bool>{true, false} : std::vector<bool>{true})
      rounds.push_back(noisy_block(r, block, config, [&](int64_t response_token, int64_t step) {
        const bool hidden = step != 0 && mask[static_cast<size_t>(response_token)] == side;
        return hidden ? (step > 0 ? TokenUse::kScored : TokenUse::kHidden) : TokenUse::kShown;
      }));
  });
}

}  // namespace bicrl

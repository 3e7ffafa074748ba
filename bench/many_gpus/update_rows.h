// The responses that benches of the update train on, and bench/update_peer.py as well.
#pragma once
#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "policy/policy_config.h"
#include "rollout/rollout.h"

namespace bicrl {

struct UpdateRows {
  int64_t groups = 1, samples = 8, prompt = 512, response = 1024, shortest = 0, rounds = 1;
};

// Tokens of a group's response: whole blocks, evenly spread from the shortest to the longest.
inline int64_t response_tokens(const UpdateRows& s, int64_t sample, int64_t block_size) {
  if (s.shortest == 0 || s.samples == 1) return s.response;
  return (s.shortest + (s.response - s.shortest) * sample / (s.samples - 1)) / block_size * block_size;
}

// Responses in which each round of a block scores two of its tokens. The groups are those of a rank among
// `ranks`.
inline std::vector<Experience> make_experiences(const UpdateRows& s, const PolicyConfig& config, int rank = 0,
                                                int ranks = 1) {
  std::vector<Experience> experiences;
  RandomStream random(7 + static_cast<uint64_t>(rank));
  const auto token = [&] {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(config.mask_token_id)));
  };
  for (int64_t group = 0; group < s.groups; ++group) {
    std::vector<int64_t> prompt;
    for (int64_t i = 0; i < s.prompt; ++i) prompt.push_back(token());
    for (int64_t sample = 0; sample < s.samples; ++sample) {
      Experience e;
      e.group = group * ranks + rank;
      e.sample = sample;
      e.advantage = sample % 2 == 0 ? 1 : -1;
      e.rollout.prompt_tokens = s.prompt;
      e.rollout.tokens = prompt;
      for (int64_t i = 0; i < response_tokens(s, sample, config.block_size); ++i) {
        const int64_t offset = i % config.block_size;
        const bool is_scored = offset < 2 * s.rounds;
        e.rollout.tokens.push_back(token());
        e.rollout.step_map.push_back(is_scored ? static_cast<int32_t>(1 + offset / 2) : 0);
        e.rollout.log_probs.push_back(is_scored ? -12.0f : 0.0f);
      }
      experiences.push_back(std::move(e));
    }
  }
  return experiences;
}

}  // namespace bicrl

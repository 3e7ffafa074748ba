#include "trainer/update/packing/live_layout.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "common/error.h"

namespace bicrl {
namespace {

// Steps of one round: everything in [first, last].
struct Round {
  int64_t first = 0;
  int64_t last = 0;
};

std::vector<Round> rounds_of(const std::set<int64_t>& steps, int64_t shrink) {
  std::vector<Round> rounds;
  int64_t in_round = 0;
  for (int64_t step : steps) {
    if (in_round == 0) rounds.push_back({step, step});
    rounds.back().last = step;
    in_round = (in_round + 1) % shrink;
  }
  return rounds;
}

// Step at which the token at an absolute position was accepted: > 0 scored, < 0 not scored, 0 always there.
int64_t step_at(const Rollout& r, int64_t position) {
  return position < r.prompt_tokens ? 0 : r.step_map[position - r.prompt_tokens];
}

std::set<int64_t> scored_steps(const Rollout& r, int64_t block, int64_t block_size) {
  std::set<int64_t> steps;
  for (int64_t p = block * block_size; p < (block + 1) * block_size; ++p) {
    if (step_at(r, p) > 0) steps.insert(step_at(r, p));
  }
  return steps;
}

// The tokens that all noisy blocks refer to.
void set_clean(LiveSequence& sequence, const Rollout& r, int64_t block_size) {
  const auto shared_end = r.tokens.begin() + r.prompt_tokens / block_size * block_size;
  sequence.shared.assign(r.tokens.begin(), shared_end);
  if (!sequence.noisy.empty())
    sequence.clean.assign(shared_end, r.tokens.begin() + sequence.noisy.back().block * block_size);
}

}  // namespace

int64_t LiveSequence::scored_tokens() const {
  int64_t count = 0;
  for (const auto& block : noisy) count += static_cast<int64_t>(block.scored.size());
  return count;
}

void check_rollout(const Rollout& r, const PolicyConfig& config) {
  const auto tokens = static_cast<int64_t>(r.tokens.size());
  BICRL_CHECK(tokens % config.block_size == 0, "rollout of task ", r.task_id, " has ", tokens,
              " tokens, block size ", config.block_size);
  BICRL_CHECK(r.prompt_tokens >= 0 && r.prompt_tokens <= tokens, "prompt of ", r.prompt_tokens, " tokens");
  BICRL_CHECK(static_cast<int64_t>(r.step_map.size()) == r.response_tokens() &&
                  r.log_probs.size() == r.step_map.size(),
              "rollout of task ", r.task_id, ": ", r.step_map.size(), " steps and ", r.log_probs.size(),
              " log-probabilities for ", r.response_tokens(), " tokens");
  check_record(r.candidates, r.response_tokens(), config.vocab_size);
  for (size_t i = 0; i < r.step_map.size(); ++i) {
    BICRL_CHECK(r.step_map[i] <= 0 || r.tokens[r.prompt_tokens + i] != config.mask_token_id,
                "rollout of task ", r.task_id, ": scored token ", i, " is MASK");
  }
}

NoisyBlock noisy_block(const Rollout& r, int64_t block, const PolicyConfig& config,
                       const std::function<TokenUse(int64_t response_token, int64_t step)>& use) {
  NoisyBlock noisy;
  noisy.block = block;
  for (int64_t offset = 0; offset < config.block_size; ++offset) {
    const int64_t position = block * config.block_size + offset, token = position - r.prompt_tokens;
    const TokenUse used = token < 0 ? TokenUse::kShown : use(token, step_at(r, position));
    noisy.inputs.push_back(used == TokenUse::kShown ? r.tokens[position] : config.mask_token_id);
    if (used == TokenUse::kScored)
      noisy.scored.push_back(
          {.offset = offset, .label = r.tokens[position], .old_log_prob = r.log_probs[token]});
  }
  return noisy;
}

LiveSequence live_sequence(
    const Experience& experience, const PolicyConfig& config,
    const std::function<void(int64_t block, std::vector<NoisyBlock>& rounds)>& add_rounds) {
  const Rollout& r = experience.rollout;
  check_rollout(r, config);
  const int64_t b = config.block_size;
  LiveSequence sequence;
  sequence.advantage = experience.advantage;
  for (int64_t block = r.prompt_tokens / b; block * b < static_cast<int64_t>(r.tokens.size()); ++block)
    add_rounds(block, sequence.noisy);
  std::erase_if(sequence.noisy, [](const NoisyBlock& noisy) { return noisy.scored.empty(); });
  set_clean(sequence, r, b);
  return sequence;
}

LiveSequence rollout_sequence(const Experience& experience, const PolicyConfig& config, int64_t shrink) {
  BICRL_CHECK(shrink >= 1, "shrink ", shrink);
  const Rollout& r = experience.rollout;
  return live_sequence(experience, config, [&](int64_t block, std::vector<NoisyBlock>& rounds) {
    for (const Round& round : rounds_of(scored_steps(r, block, config.block_size), shrink))
      rounds.push_back(noisy_block(r, block, config, [&](int64_t, int64_t step) {
        if (std::abs(step) < round.first) return TokenUse::kShown;
        return step >= round.first && step <= round.last ? TokenUse::kScored : TokenUse::kHidden;
      }));
  });
}

int64_t published_layout_rows(const std::vector<Experience>& experiences, const PolicyConfig& config,
                              int64_t shrink) {
  int64_t longest_prompt = 0, longest_response = 0, layout_rows = 0;
  for (const auto& e : experiences) {
    longest_prompt = std::max(longest_prompt, e.rollout.prompt_tokens);
    longest_response = std::max(longest_response, e.rollout.response_tokens());
    const LiveSequence sequence = rollout_sequence(e, config, shrink);
    std::map<int64_t, int64_t> rounds_of_block;
    int64_t rounds = 0;
    for (const auto& noisy : sequence.noisy) rounds = std::max(rounds, ++rounds_of_block[noisy.block]);
    layout_rows += rounds;
  }
  return layout_rows * (longest_prompt + 2 * longest_response);
}

}  // namespace bicrl

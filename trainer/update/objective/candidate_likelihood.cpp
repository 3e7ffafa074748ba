#include "trainer/update/objective/candidate_likelihood.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "common/error.h"

namespace bicrl {
namespace {

// By the step that they are of; steps count on over blocks.
std::map<int64_t, std::vector<ScoredToken>> recorded_terms(const Rollout& r, int64_t block_size) {
  const CandidateRecord& record = r.candidates;
  std::map<int64_t, std::vector<ScoredToken>> terms;
  auto id = record.ids.begin();
  for (int64_t i = 0; i < record.terms(); ++i) {
    ScoredToken term{.offset = (r.prompt_tokens + record.tokens[i]) % block_size,
                     .label = *id,
                     .old_log_prob = record.log_likelihoods[i],
                     .excluded = {id, id + record.excluded[i]}};
    id += std::max(record.excluded[i], 1);
    terms[record.steps[i]].push_back(std::move(term));
  }
  return terms;
}

// What a position drew among, by step and index of the response's token; without a restriction none.
using KeptIds = std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>>;

KeptIds kept_ids(const CandidateRecord& record) {
  KeptIds kept;
  auto id = record.kept_ids.begin();
  for (int64_t i = 0; i < record.restricted_draws(); ++i) {
    kept[{record.kept_steps[i], record.kept_tokens[i]}] = {id, id + record.kept_counts[i]};
    id += record.kept_counts[i];
  }
  return kept;
}

void restrict(NoisyBlock& noisy, const KeptIds& kept, int64_t step, int64_t first_token) {
  for (ScoredToken& scored : noisy.scored) {
    const auto found = kept.find({step, first_token + scored.offset});
    if (found == kept.end())
      throw InputError(concat("a record of restricted draws has none of token ", first_token + scored.offset,
                              ", step ", step));
    scored.kept = found->second;
  }
}

// Steps of a block up to the last that accepts a scored token: no later one bears on the response.
std::set<int64_t> steps_that_count(const Rollout& r, int64_t block, int64_t block_size) {
  std::set<int64_t> steps;
  int64_t last_scored = 0;
  for (int64_t p = std::max(block * block_size, r.prompt_tokens); p < (block + 1) * block_size; ++p) {
    const int64_t step = r.step_map[p - r.prompt_tokens];
    if (step != 0) steps.insert(std::abs(step));
    last_scored = std::max(last_scored, step);
  }
  steps.erase(steps.upper_bound(last_scored), steps.end());
  return steps;
}

}  // namespace

LiveSequence CandidateLikelihood::sequence(const Experience& experience, const PolicyConfig& config,
                                           const UpdateKey&) const {
  const Rollout& r = experience.rollout;
  if (r.candidates.kind != terms_)
    throw InputError(concat("the response of group ", experience.group, ", sample ", experience.sample,
                            " has no record of candidates for 'objective: ", name_,
                            "': it was sampled for another objective"));
  check_rollout(r, config);
  const int64_t b = config.block_size;
  const auto terms = recorded_terms(r, b);
  const KeptIds kept = kept_ids(r.candidates);
  return live_sequence(experience, config, [&](int64_t block, std::vector<NoisyBlock>& rounds) {
    for (const int64_t round : steps_that_count(r, block, b)) {
      NoisyBlock& noisy = rounds.emplace_back(noisy_block(r, block, config, [&](int64_t, int64_t step) {
        if (std::abs(step) < round) return TokenUse::kShown;
        return step == round ? TokenUse::kScored : TokenUse::kHidden;
      }));
      const auto found = terms.find(round);
      if (found != terms.end())
        noisy.scored.insert(noisy.scored.end(), found->second.begin(), found->second.end());
      if (!kept.empty()) restrict(noisy, kept, round, block * b - r.prompt_tokens);
    }
  });
}

}  // namespace bicrl

#include "trainer/update/packing/minibatch.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl {
namespace {

// An experience with a scored token, and where it lies.
struct Member {
  ExperienceKey share;
  int rank = 0;
  size_t index = 0;  // among its rank's experiences
};

std::vector<Member> members_in_order(const StepKeys& shares) {
  std::vector<Member> members;
  for (size_t rank = 0; rank < shares.size(); ++rank)
    for (size_t i = 0; i < shares[rank].size(); ++i)
      if (shares[rank][i].scored_tokens > 0) members.push_back({shares[rank][i], static_cast<int>(rank), i});
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::tie(a.share.group, a.share.sample, a.share.turn, a.rank, a.index) <
           std::tie(b.share.group, b.share.sample, b.share.turn, b.rank, b.index);
  });
  return members;
}

// The members of each minibatch.
std::vector<std::vector<Member>> deal(const StepKeys& shares, int64_t responses_per_update, uint64_t key) {
  std::vector<Member> members = members_in_order(shares);
  const auto count = static_cast<int64_t>(members.size());
  if (count == 0) return {};
  const int64_t limit = responses_per_update == 0 ? count : responses_per_update;
  const int64_t parts = (count + limit - 1) / limit;
  if (parts > 1) RandomStream(key).shuffle(members);
  std::vector<std::vector<Member>> minibatches;
  for (int64_t part = 0; part < parts; ++part)
    minibatches.emplace_back(members.begin() + count * part / parts,
                             members.begin() + count * (part + 1) / parts);
  return minibatches;
}

int64_t scored_rounds(const Rollout& rollout) {
  std::set<int32_t> steps(rollout.step_map.begin(), rollout.step_map.end());
  return std::distance(steps.upper_bound(0), steps.end());
}

// Of the responses of a minibatch to one prompt; of groups with one number, which are of different steps, to
// each of them.
struct PromptSet {
  std::vector<Member> members;
  std::set<int64_t> shared_prompts;  // tokens

  // What its rows cost with those of `member`, less what they cost without.
  double add(const Member& member, const RowCost& cost) {
    members.push_back(member);
    const ExperienceKey& key = member.share;
    // Later turns follow a response of their own.
    const bool has_prompt = key.turn > 0 || shared_prompts.insert(key.prompt_tokens).second;
    return cost.of_response(key) + (has_prompt ? cost.of_prompt(key) : 0);
  }
};

// Rounds of all blocks of a response. A key does not say which steps a block has: they are spread evenly.
int64_t rounds_of(const ExperienceKey& key, const RowCost& cost) {
  const int64_t begin = key.prompt_tokens % cost.block_size;  // within a block
  const int64_t blocks = (begin + key.scored_tokens + cost.block_size - 1) / cost.block_size;
  if (blocks == 0) return 0;
  const int64_t steps = key.scored_rounds / blocks, with_one_more = key.scored_rounds % blocks;
  return (blocks - with_one_more) * cost.rounds_of_block(steps) +
         with_one_more * cost.rounds_of_block(steps + 1);
}

}  // namespace

// A row has a pair with every token before it.
double RowCost::of_prompt(const ExperienceKey& key) const {
  const auto rows = static_cast<double>(key.prompt_tokens);
  return rows + rows_of_pair * rows * rows / 2;
}

double RowCost::of_response(const ExperienceKey& key) const {
  const auto tokens = static_cast<double>(key.scored_tokens);
  const double rows = tokens + static_cast<double>(block_size * rounds_of(key, *this));
  return rows + rows_of_pair * rows * (static_cast<double>(key.prompt_tokens) + tokens / 2);
}

ExperienceKey key_of(int64_t group, int64_t sample, int64_t turn, const Rollout& rollout) {
  return {.group = group,
          .sample = sample,
          .scored_tokens = rollout.scored_tokens(),
          .turn = turn,
          .prompt_tokens = rollout.prompt_tokens,
          .scored_rounds = scored_rounds(rollout)};
}

std::vector<ExperienceKey> shares_of(const std::vector<Experience>& experiences) {
  std::vector<ExperienceKey> shares;
  for (const Experience& e : experiences) shares.push_back(key_of(e.group, e.sample, e.turn, e.rollout));
  return shares;
}

std::vector<Minibatch> deal_minibatches(const StepKeys& shares, int rank, int64_t responses_per_update,
                                        const SurrogateSettings& surrogate, uint64_t key) {
  std::vector<Minibatch> minibatches;
  for (const std::vector<Member>& members : deal(shares, responses_per_update, key)) {
    ScoredCounts total;
    std::vector<std::pair<size_t, int64_t>> own;  // index, scored tokens
    for (const Member& member : members) {
      total.add(member.share.scored_tokens);
      if (member.rank == rank) own.emplace_back(member.index, member.share.scored_tokens);
    }
    // In the order of the rank's experiences, so that the responses to one prompt stay side by side.
    std::sort(own.begin(), own.end());
    Minibatch& minibatch = minibatches.emplace_back();
    for (const auto& [index, scored_tokens] : own) {
      minibatch.mine.push_back(index);
      minibatch.scales.push_back(sequence_scale(scored_tokens, total, surrogate));
    }
  }
  return minibatches;
}

std::vector<std::vector<int>> balanced_ranks(const StepKeys& shares, int64_t responses_per_update,
                                             uint64_t key, const RowCost& cost) {
  std::vector<std::vector<int>> ranks;
  for (size_t rank = 0; rank < shares.size(); ++rank)
    ranks.emplace_back(shares[rank].size(), static_cast<int>(rank));  // of what is in no minibatch
  std::map<std::pair<int64_t, int64_t>, int> rank_of;                 // by group and sample
  for (const std::vector<Member>& minibatch : deal(shares, responses_per_update, key)) {
    std::map<int64_t, std::pair<double, PromptSet>> by_group;  // with their cost
    for (const Member& member : minibatch) {
      auto& [sum, set] = by_group[member.share.group];
      sum += set.add(member, cost);
    }
    std::vector<std::pair<double, PromptSet>> sets;
    for (auto& [group, set] : by_group) sets.push_back(std::move(set));
    // The most expensive first, each to the rank with the least so far.
    std::ranges::stable_sort(sets, std::ranges::greater(), [](const auto& set) { return set.first; });
    std::vector<double> load(shares.size(), 0);
    for (const auto& [sum, set] : sets) {
      const int least = static_cast<int>(std::ranges::min_element(load) - load.begin());
      std::map<int, PromptSet> by_rank;
      for (const Member& member : set.members) {
        // One that is there twice, of two steps, has to keep its order.
        const int rank = rank_of.try_emplace({member.share.group, member.share.sample}, least).first->second;
        ranks[static_cast<size_t>(member.rank)][member.index] = rank;
        load[static_cast<size_t>(rank)] += by_rank[rank].add(member, cost);
      }
    }
  }
  return ranks;
}

}  // namespace bicrl

#include "trainer/update/minibatch.h"

#include <algorithm>
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
    return std::tie(a.share.group, a.share.sample, a.rank, a.index) <
           std::tie(b.share.group, b.share.sample, b.rank, b.index);
  });
  return members;
}

}  // namespace

std::vector<ExperienceKey> shares_of(const std::vector<Experience>& experiences) {
  std::vector<ExperienceKey> shares;
  for (const Experience& e : experiences) shares.push_back({e.group, e.sample, e.rollout.scored_tokens()});
  return shares;
}

std::vector<Minibatch> deal_minibatches(const StepKeys& shares, int rank, int64_t responses_per_update,
                                        const ObjectiveSettings& objective, uint64_t key) {
  std::vector<Member> members = members_in_order(shares);
  const auto count = static_cast<int64_t>(members.size());
  if (count == 0) return {};
  const int64_t limit = responses_per_update == 0 ? count : responses_per_update;
  const int64_t parts = (count + limit - 1) / limit;
  if (parts > 1) RandomStream(key).shuffle(members);
  std::vector<Minibatch> minibatches;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t begin = count * part / parts, end = count * (part + 1) / parts;
    ScoredCounts total;
    std::vector<std::pair<size_t, int64_t>> own;  // index, scored tokens
    for (int64_t i = begin; i < end; ++i) {
      const Member& member = members[static_cast<size_t>(i)];
      total.add(member.share.scored_tokens);
      if (member.rank == rank) own.emplace_back(member.index, member.share.scored_tokens);
    }
    // In the order of the rank's experiences, so that the responses to one prompt stay side by side.
    std::sort(own.begin(), own.end());
    Minibatch& minibatch = minibatches.emplace_back();
    for (const auto& [index, scored_tokens] : own) {
      minibatch.mine.push_back(index);
      minibatch.scales.push_back(sequence_scale(scored_tokens, total, objective));
    }
  }
  return minibatches;
}

}  // namespace bicrl

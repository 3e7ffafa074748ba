#include "trainer/update/update_statistics.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {

UpdateStatistics over_ranks(std::span<const UpdateTotals> ranks) {
  BICRL_CHECK(!ranks.empty());
  UpdateTotals sum = ranks.front();
  for (const UpdateTotals& t : ranks.subspan(1)) {
    sum.scored_tokens += t.scored_tokens;
    sum.packed_rows += t.packed_rows;
    sum.packed_pairs += t.packed_pairs;
    sum.loss += t.loss;
    sum.policy_loss += t.policy_loss;
    sum.kl += t.kl;
    sum.clipped += t.clipped;
    sum.entropy += t.entropy;
    sum.imitation_loss += t.imitation_loss;
    sum.gap_tokens += t.gap_tokens;
    sum.gap += t.gap;
    // What ends a run has to be the same on all ranks, also if one of them has miscalculated.
    sum.gap_max = std::max(sum.gap_max, t.gap_max);
    sum.largest_weight = std::max(sum.largest_weight, t.largest_weight);
    sum.skipped_updates = std::max(sum.skipped_updates, t.skipped_updates);
  }
  const auto mean = [](double total, double count) { return count > 0 ? total / count : 0.0; };
  return {.updates = sum.updates,
          .skipped_updates = sum.skipped_updates,
          .largest_weight = sum.largest_weight,
          .scored_tokens = static_cast<int64_t>(sum.scored_tokens),
          .packed_rows = static_cast<int64_t>(sum.packed_rows),
          .packed_pairs = sum.packed_pairs,
          .loss = mean(sum.loss, static_cast<double>(sum.updates - sum.imitation_updates)),
          .policy_loss = mean(sum.policy_loss, sum.scored_tokens),
          .kl = mean(sum.kl, sum.scored_tokens),
          .clip_share = mean(sum.clipped, sum.scored_tokens),
          .imitation_updates = sum.imitation_updates,
          .imitation_loss = mean(sum.imitation_loss, static_cast<double>(sum.imitation_updates)),
          .imitation_grad_norm = sum.imitation_grad_norm,
          .entropy = mean(sum.entropy, sum.scored_tokens),
          .logprob_gap_mean = mean(sum.gap, sum.gap_tokens),
          .logprob_gap_max = sum.gap_max,
          .grad_norm = sum.grad_norm,
          .learning_rate = sum.learning_rate};
}

}  // namespace bicrl

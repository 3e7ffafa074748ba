// What the updates of one step measured: sums of one rank, and the figures over all ranks that they make.
// Plain values and a pure function; thread-safe.
#pragma once
#include <cstdint>
#include <span>

namespace bicrl {

// Of one rank. Trivially copyable, so that ranks exchange the bytes.
struct UpdateTotals {
  int64_t updates = 0;          // gradients computed; equal on all ranks
  int64_t skipped_updates = 0;  // of these, left out because the gradient was not finite
  double scored_tokens = 0, packed_rows = 0;
  double packed_pairs = 0;  // of a query and a key that attention's masks let through, in the packs
  // Sums over scored tokens, but for `loss`, which is the sum of what was minimised.
  double loss = 0, policy_loss = 0, kl = 0, clipped = 0, entropy = 0;
  // Of the updates, those that imitated, and the sum of what they minimised. They count in `packed_rows`, and
  // in nothing else that is summed here.
  int64_t imitation_updates = 0;
  double imitation_loss = 0;
  double imitation_grad_norm = 0;  // before clipping; of the last of them; equal on all ranks
  // |logp_new - logp_old| before the first parameter change.
  double gap_tokens = 0, gap = 0, gap_max = 0;
  double grad_norm = 0;      // before clipping; of the last update that did not imitate; equal on all ranks
  double learning_rate = 0;  // of the last update; likewise
  // Of what is trained, in magnitude, after the last update; infinite if one is no number.
  double largest_weight = 0;
};

// Over all ranks. Means are over scored tokens and all updates of the step.
struct UpdateStatistics {
  int64_t updates = 0;
  int64_t skipped_updates = 0;
  double largest_weight = 0;
  int64_t scored_tokens = 0;
  int64_t packed_rows = 0;  // rows the body computed
  double packed_pairs = 0;  // pairs of a query and a key that its attention did
  double loss = 0;          // as minimised: with the normaliser; mean over updates without imitation
  double policy_loss = 0;   // mean per token
  double kl = 0;            // mean per token, to the reference that the settings name
  double clip_share = 0;
  int64_t imitation_updates = 0;
  double imitation_loss = 0;  // mean over these
  double imitation_grad_norm = 0;
  double entropy = 0;
  // Rollout and trainer would agree exactly at 0.
  double logprob_gap_mean = 0;
  double logprob_gap_max = 0;
  double grad_norm = 0;
  double learning_rate = 0;
};

UpdateStatistics over_ranks(std::span<const UpdateTotals> ranks);

}  // namespace bicrl
